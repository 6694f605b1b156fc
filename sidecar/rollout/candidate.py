"""Roll out a candidate version that passed the checks, until it serves or is refused."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial

from core.errors import InvalidError, RefusedError, UnavailableError
from sidecar.rollout.state import SkillState
from sidecar.rollout.trial import (
    has_open_test,
    list_fresh_runs,
    run_manual_test,
    start_shadow,
    try_fresh_runs,
    try_past_runs,
)
from sidecar.rollout.work_queue import BackgroundWork
from skills.book import skill
from skills.book.versions import CheckedVersion
from skills.format.problem import RefusedSkillError, SkillProblem
from skills.lifecycle import decision, promotion
from skills.lifecycle.decision import VersionFacts

_log = logging.getLogger(__name__)


class CandidateRollout:
    """The rollout of one skill's candidate, one move after another.

    Trials run in the background. `follow_soon` is called after each, since another move may be possible then.
    """

    def __init__(self, state: SkillState, follow_soon: Callable[[], None]) -> None:
        self._state = state
        self._dependencies = state.dependencies
        self._background = BackgroundWork(state.stem, follow_soon)
        self.is_held_up = False
        """Whether a version could not begin to serve because the engine could not be reached or refused our key."""

    def advance(self, *, retry: bool = True) -> None:
        """Make moves until the candidate has to wait or there is none.

        With `retry`, a registration that cannot be made now is logged and left for later. Without it, raises
        UnavailableError or RefusedError.
        """
        while (candidate := self._state.candidate) is not None and self._make_move(candidate, retry=retry):
            self._state.read_book()

    def answer_tests(self) -> None:
        """Run the manual tests that people have asked for, in the background."""
        for version in (self._state.candidate, self._state.last):
            if version is not None and has_open_test(version):
                self._background.start(partial(run_manual_test, self._dependencies, version))

    def _make_move(self, candidate: CheckedVersion, *, retry: bool) -> bool:
        """Make one move of the candidate; return False when it has to wait."""
        stem, facts, serving = self._state.stem, self._collect_facts(candidate), self._state.serving
        match decision.next_move(facts):
            case "hold":
                self._try_fresh_runs(candidate)
                return False
            case "ask":
                with self._dependencies.transaction("skill-asks") as scope:
                    promotion.wait_for_permission(scope, stem, candidate, facts.missing)
            case "shadow" if serving is None:
                # Another process activated it after this one read the book, which is read again for that change.
                return False
            case "dry_run":
                self._background.start(partial(try_past_runs, self._dependencies, serving, candidate))
                return False
            case "shadow":
                assert serving is not None
                start_shadow(self._dependencies, serving, candidate)
            case "canary":
                with self._dependencies.transaction("skill-stage") as scope:
                    first_runs = {"of": facts.canary_runs, "since": scope.now.isoformat()}
                    promotion.set_candidate_stage(scope, stem, candidate, "canary", canary=first_runs)
                _log.info("skill %s version %d: its first runs begin", stem, candidate.number)
            case "refuse":
                fix = "read its runs, correct it and save it again"
                self._state.refuse(candidate.sha, (SkillProblem(None, decision.why_refused(facts), fix),))
            case "activate":
                return self._activate(candidate, retry=retry)
        return True

    def _collect_facts(self, candidate: CheckedVersion) -> VersionFacts:
        rules = self._dependencies.rules
        with self._dependencies.reading() as scope:
            return promotion.collect_facts(
                scope,
                skill.get_skill(scope, self._state.stem),
                candidate,
                always_ask=rules.always_ask,
                canary_runs=rules.canary_runs,
                shadow_runs=rules.shadow_runs,
            )

    def _activate(self, candidate: CheckedVersion, *, retry: bool) -> bool:
        """Let the candidate serve, once it loads and the engine has accepted its functions."""
        state = self._state
        try:
            state.child(candidate)
        except RefusedSkillError as error:
            state.refuse(candidate.sha, error.problems)
            return True
        with state.turnover:
            try:
                state.registration.register(candidate)
            except InvalidError as error:
                problem = SkillProblem(
                    None, f"the engine refuses it: {error}", "correct the trigger or option it names"
                )
                state.refuse(candidate.sha, (problem,))
                return True
            except (UnavailableError, RefusedError) as error:
                self.is_held_up = True
                if not retry:
                    raise
                _log.warning("skill %s waits to be registered: %s", state.stem, error)
                return False
            self.is_held_up = False
            with self._dependencies.transaction("skill-active") as scope:
                promotion.activate_version(scope, state.stem, candidate)
            state.read_book()
        if state.serving is not None and state.serving.id == candidate.id:
            _log.info("skill %s version %d live, sha256 %s", state.stem, candidate.number, candidate.sha)
        state.drop_unused()
        return True

    def _try_fresh_runs(self, candidate: CheckedVersion) -> None:
        """Try a candidate in its shadow on the runs that ended since it was last tried."""
        serving = self._state.serving
        if (
            candidate.stage == "shadow"
            and serving is not None
            and (fresh := list_fresh_runs(self._dependencies, serving, candidate))
        ):
            self._background.start(partial(try_fresh_runs, self._dependencies, candidate, fresh))
