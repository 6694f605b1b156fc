"""Manual tests: a rehearsal of a version on a chosen event, requested in the database and run by the sidecar."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from core.database import Scope
from skills.book import versions
from skills.book.skill import lock_skill, touch_skill
from skills.book.versions import CheckedVersion
from skills.lifecycle.decision import Trial
from skills.tables import skill_versions

_FACT = "test"


@dataclass(frozen=True)
class ManualTest:
    """One requested test. `cause` names the request, such as a call id; `trial` is None until the sidecar answers."""

    cause: str
    function_id: str
    event: Mapping[str, Any]
    trial: Trial | None

    __test__ = False


def request_test(
    scope: Scope, version: CheckedVersion, *, cause: str, function_id: str, event: Mapping[str, Any]
) -> ManualTest:
    """Request a test of a version, once per `cause`. A newer request replaces an older one."""
    skill = lock_skill(scope, version.skill_id)
    known = read_test(versions.get_version(scope, version.id))
    if known is not None and known.cause == cause:
        return known
    _store_test(scope, version.id, {"cause": cause, "function_id": function_id, "event": dict(event)})
    touch_skill(scope, skill)
    return ManualTest(cause, function_id, event, None)


def record_test_result(scope: Scope, version: CheckedVersion, cause: str, trial: Trial) -> None:
    """Store the result of a test, unless another one was requested in the meantime."""
    skill = lock_skill(scope, version.skill_id)
    known = read_test(versions.get_version(scope, version.id))
    if known is None or known.cause != cause:
        return
    facts = {"cause": cause, "function_id": known.function_id, "event": dict(known.event)}
    told = {"runs": trial.runs, "failed": trial.failed, "differences": list(trial.differences)}
    _store_test(scope, version.id, {**facts, "trial": told})
    touch_skill(scope, skill)


def read_test(version: CheckedVersion) -> ManualTest | None:
    """Return the last requested test of this version, None if there was none."""
    known = version.stage_facts.get(_FACT)
    if not isinstance(known, Mapping):
        return None
    told = known.get("trial")
    trial = Trial(int(told["runs"]), str(told["failed"]), tuple(told["differences"])) if told is not None else None
    return ManualTest(str(known["cause"]), str(known["function_id"]), known["event"], trial)


def _store_test(scope: Scope, version_id: str, test: Mapping[str, Any]) -> None:
    facts = {**versions.get_version(scope, version_id).stage_facts, _FACT: dict(test)}
    scope.change(scope.update(skill_versions).where(skill_versions.c.id == version_id).values(stage_facts=facts))
