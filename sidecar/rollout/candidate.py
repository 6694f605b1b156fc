"""Roll out a candidate version that passed the checks, until it serves or is refused."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial

from core.errors import InvalidError, RefusedError, UnavailableError
from sidecar.rollout.state import SkillState
from sidecar.rollout.trial import (
    begin_shadow,
    has_open_test,
    list_fresh_runs,
    run_manual_test,
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
    """`again` is called when a trial that took its time has ended: then there may be another move."""

    def __init__(self, standing: SkillState, again: Callable[[], None]) -> None:
        self._standing = standing
        self._tools = standing.tools
        self._aside = BackgroundWork(standing.stem, again)
        self.held_up = False
        """Whether the engine could not be told of a version that would serve."""

    def advance(self, *, again: bool = True) -> None:
        """Let the candidate go as far as it may. `again`: what the engine cannot hear now is told later."""
        while (candidate := self._standing.candidate) is not None and self._move(candidate, again=again):
            self._standing.look()

    def answer_tests(self) -> None:
        """Somebody may have asked to have a version tried."""
        for version in (self._standing.candidate, self._standing.last):
            if version is not None and has_open_test(version):
                self._aside.begin(partial(run_manual_test, self._tools, version))

    def _move(self, candidate: CheckedVersion, *, again: bool) -> bool:
        """One move of the candidate; False when it has to wait."""
        stem, facts, serving = self._standing.stem, self._facts(candidate), self._standing.serving
        match decision.next_move(facts):
            case "hold":
                self._shadow(candidate)
                return False
            case "ask":
                with self._tools.transaction("skill-asks") as scope:
                    promotion.wait_for_permission(scope, stem, candidate, facts.missing)
            case "shadow" if serving is None:
                # It began to serve since this process looked, and is followed for that.
                return False
            case "dry_run":
                self._aside.begin(partial(try_past_runs, self._tools, serving, candidate))
                return False
            case "shadow":
                assert serving is not None
                begin_shadow(self._tools, serving, candidate)
            case "canary":
                with self._tools.transaction("skill-stage") as scope:
                    about = {"of": facts.canary_runs, "since": scope.now.isoformat()}
                    promotion.set_candidate_stage(scope, stem, candidate, "canary", canary=about)
                _log.info("skill %s version %d: its first runs begin", stem, candidate.number)
            case "refuse":
                fix = "read its runs, correct it and save it again"
                self._standing.turn_down(candidate.sha, (SkillProblem(None, decision.why_refused(facts), fix),))
            case "activate":
                return self._activate(candidate, again=again)
        return True

    def _facts(self, candidate: CheckedVersion) -> VersionFacts:
        rules = self._tools.rules
        with self._tools.reading() as scope:
            return promotion.collect_facts(
                scope,
                skill.get_skill(scope, self._standing.stem),
                candidate,
                always_ask=rules.always_ask,
                canary_runs=rules.canary_runs,
                shadow_runs=rules.shadow_runs,
            )

    def _activate(self, candidate: CheckedVersion, *, again: bool) -> bool:
        """It takes over once it loads and the engine took it."""
        standing = self._standing
        try:
            standing.child(candidate)
        except RefusedSkillError as error:
            standing.turn_down(candidate.sha, error.problems)
            return True
        with standing.turnover:
            try:
                standing.told.tell(candidate)
            except InvalidError as error:
                problem = SkillProblem(
                    None, f"the engine refuses it: {error}", "correct the trigger or option it names"
                )
                standing.turn_down(candidate.sha, (problem,))
                return True
            except (UnavailableError, RefusedError) as error:
                self.held_up = True
                if not again:
                    raise
                _log.warning("skill %s waits to be registered: %s", standing.stem, error)
                return False
            self.held_up = False
            with self._tools.transaction("skill-active") as scope:
                promotion.activate_version(scope, standing.stem, candidate)
            standing.look()
        if standing.serving is not None and standing.serving.id == candidate.id:
            _log.info("skill %s version %d live, sha256 %s", standing.stem, candidate.number, candidate.sha)
        standing.drop_unused()
        return True

    def _shadow(self, candidate: CheckedVersion) -> None:
        """Where runs ended beside a candidate in its shadow, try it on them."""
        serving = self._standing.serving
        if (
            candidate.stage == "shadow"
            and serving is not None
            and (fresh := list_fresh_runs(self._tools, serving, candidate))
        ):
            self._aside.begin(partial(try_fresh_runs, self._tools, candidate, fresh))
