"""Versions that runs go on with: the one a run began with, whatever serves by now."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from core.database import Scope
from core.events import RunFailed
from sidecar.rollout.dependencies import SidecarDependencies
from skills.book import refusals, runs, schedule_claims, versions
from skills.book.refusals import RefusalKind
from skills.book.runs import EndStatus
from skills.book.skill import find_skill
from skills.book.versions import CheckedVersion
from skills.lifecycle import decision, promotion, run_end

_log = logging.getLogger(__name__)
_TIMER = "inngest/scheduled.timer"
SKILL_GONE = "the skill is gone or turned off"
# A run that is called all the time need not be written down each time.
_CALLED_SECONDS = 20.0
_MOST_REMEMBERED = 5000
# Of the year 9999: later moments are no dates.
_LATEST_MS = 253_370_764_800_000


@dataclass(frozen=True)
class RunCall:
    """What the engine asks: a step of this run of this function."""

    run_id: str
    function_id: str
    event: Mapping[str, Any]


@dataclass(frozen=True)
class KnownAnswer:
    """The run is not to go on: it may not begin, or it completed and the engine lost its answer, which is `output`."""

    output: Any


class RunVersions:
    """The runs of one skill. What began is written down before the skill hears of it.

    The engine has the last word: a run that it calls for goes on, whatever was written down of its end. Only what
    completed is not done again.

    `turnover` is held while another version takes over; `again` has the skill followed, which a run's end may move.
    """

    def __init__(
        self, stem: str, tools: SidecarDependencies, turnover: AbstractContextManager[object], again: Callable[[], None]
    ) -> None:
        self._stem = stem
        self._tools = tools
        self._turnover = turnover
        self._again = again
        self._lock = threading.Lock()
        self._pinned: dict[str, tuple[CheckedVersion, float]] = {}

    def version_for(self, call: RunCall) -> CheckedVersion | KnownAnswer | None:
        """The version this run began with, or begins with now, or its answer; None when the skill serves no more."""
        if (known := self._known(call)) is not None:
            return known
        with self._turnover:
            return self._begin(call)

    def ended(
        self,
        run_id: str,
        status: EndStatus,
        *,
        output: Any = None,
        error: Any = None,
        attempts: int = 0,
        served: bool = True,
    ) -> None:
        """Write down how it ended, and what follows for its version, if it was `served`; only the first time counts."""
        with self._lock:
            self._pinned.pop(run_id, None)
        with self._tools.transaction("skill-run") as scope:
            told = {"output": output, "error": error, "attempts": attempts, "served": served}
            if not run_end.end_run(scope, run_id, status, most=self._tools.rules.failures, **told):
                return
        # A candidate may go further, or a version that served before was needed for the last time.
        self._again()

    def remember(self, run_id: str, memos: Mapping[str, Any]) -> None:
        """What the engine knows of the steps of a run that completed: a change is rehearsed on it."""
        self._tools.keep_memos(self._stem, run_id, memos)

    def refused(self, version: CheckedVersion, run_id: str, what: RefusalKind, detail: str) -> None:
        """A run of it wanted something that it may not."""
        with self._tools.transaction("skill-refusal") as scope:
            kept = refusals.record_refusal(
                scope, skill_id=self._stem, version_id=version.id, run_id=run_id, what=what, detail=detail
            )
        # What is too much for the database is too much for the log.
        if kept is not None:
            _log.warning("skill %s refused: %s: %s", self._stem, what, detail[:500])

    def _known(self, call: RunCall) -> CheckedVersion | None:
        """The version of a run that is known here to have begun."""
        with self._lock:
            found = self._pinned.get(call.run_id)
        if found is None:
            return None
        version, called = found
        if time.monotonic() - called > _CALLED_SECONDS:
            self._remember(call.run_id, version)
            with self._tools.transaction("skill-run") as scope:
                runs.record_run_call(scope, call.run_id)
        return version

    def _begin(self, call: RunCall) -> CheckedVersion | KnownAnswer | None:
        with self._tools.transaction("skill-run") as scope:
            run = runs.find_run(scope, call.run_id)
            if run is not None:
                version = versions.get_version(scope, run.version_id)
                runs.record_run_call(scope, call.run_id)
                if run.status == "completed" and not runs.is_cut_json(run.output):
                    return KnownAnswer(run.output)
                runs.goes_on(scope, call.run_id)
            else:
                chosen = self._choose(scope, call)
                if chosen is None:
                    # Nobody waits for what a schedule began, and an engine that was away may not know yet.
                    return KnownAnswer({"skipped": SKILL_GONE}) if call.event.get("name") == _TIMER else None
                version, stage = chosen
                runs.record_run_start(
                    scope,
                    run_id=call.run_id,
                    skill_id=self._stem,
                    function_id=call.function_id,
                    version_id=version.id,
                    stage=stage,
                    event=call.event,
                    handler=version.is_handler(call.function_id),
                )
                if (why := self._repeated(scope, call)) is not None:
                    skipped = {"skipped": why}
                    runs.record_run_end(scope, call.run_id, "completed", output=skipped, stage=runs.SKIPPED)
                    return KnownAnswer(skipped)
        self._remember(call.run_id, version)
        return version

    def _choose(self, scope: Scope, call: RunCall) -> tuple[CheckedVersion, str] | None:
        """Read from the book, which may know more than this process does yet."""
        skill = find_skill(scope, self._stem)
        if (failed := self._handled(scope, call)) is not None:
            return failed, "live"
        if skill is None or not skill.serves or skill.version_id is None:
            return None
        if skill.candidate_id is not None:
            candidate = versions.get_version(scope, skill.candidate_id)
            counted = promotion.count_first_runs(scope, candidate)
            begun = counted.get("running", 0) + counted.get("completed", 0)
            is_first = decision.begins_on_candidate(candidate.stage, begun, self._tools.rules.canary_runs)
            if is_first and not counted.get("failed") and call.function_id in candidate.function_ids:
                return candidate, "canary"
        serving = versions.get_version(scope, skill.version_id)
        if call.function_id not in serving.function_ids:
            # The engine began it before it heard that the function is gone.
            older = versions.find_serving_version(scope, self._stem, call.function_id)
            return (older, "live") if older is not None else (serving, "live")
        return serving, "live"

    def _handled(self, scope: Scope, call: RunCall) -> CheckedVersion | None:
        """A handler of a failure belongs to the version whose run failed."""
        data = call.event.get("data")
        if call.event.get("name") != RunFailed.name or not isinstance(data, dict):
            return None
        failed = runs.find_run(scope, str(data.get("run_id", "")))
        if failed is None or failed.skill_id != self._stem:
            return None
        version = versions.get_version(scope, failed.version_id)
        return version if call.function_id in version.function_ids else None

    def _repeated(self, scope: Scope, call: RunCall) -> str | None:
        """Why a run of a schedule may not begin again on its date."""
        data = call.event.get("data")
        if call.event.get("name") != _TIMER or not isinstance(data, dict):
            return None
        at = _schedule_moment(call.event, data) or scope.now
        start = schedule_claims.find_start(str(data.get("cron", "")), at)
        if start is None or schedule_claims.claim_start(scope, self._stem, call.function_id, start, call.run_id):
            return None
        _log.info("skill %s: %s ran on %s already", self._stem, call.function_id, start.date)
        return f"ran on {start.date} already"

    def _remember(self, run_id: str, version: CheckedVersion) -> None:
        with self._lock:
            self._pinned[run_id] = (version, time.monotonic())
            while len(self._pinned) > _MOST_REMEMBERED:
                self._pinned.pop(next(iter(self._pinned)))


def _schedule_moment(event: Mapping[str, Any], data: Mapping[str, Any]) -> datetime | None:
    """When the schedule's hour was: as the engine says, which may call late."""
    for said in (data.get("scheduledAt"), data.get("fireAt")):
        if isinstance(said, str):
            try:
                moment = datetime.fromisoformat(said)
            except ValueError:
                continue
            if moment.tzinfo is not None:
                return moment
    sent = event.get("ts")
    return datetime.fromtimestamp(sent / 1000, UTC) if isinstance(sent, int) and 0 < sent < _LATEST_MS else None
