"""Trying a version on an event of one's choosing: asked for in the book, done by the sidecar, answered there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from core.database import Scope
from skills import book, versions
from skills.lifecycle import Trial
from skills.tables import skill_versions
from skills.versions import Version

_FACT = "test"


@dataclass(frozen=True)
class Test:
    """`cause` is whoever asked. `trial` is None while nobody has answered."""

    cause: str
    function_id: str
    event: Mapping[str, Any]
    trial: Trial | None

    __test__ = False


def ask(scope: Scope, version: Version, *, cause: str, function_id: str, event: Mapping[str, Any]) -> Test:
    """Have the version tried; the same cause asks once. A newer question takes the place of an older one."""
    skill = book.locked(scope, version.skill_id)
    known = known_test(versions.get(scope, version.id))
    if known is not None and known.cause == cause:
        return known
    _write(scope, version.id, {"cause": cause, "function_id": function_id, "event": dict(event)})
    book.touch(scope, skill)
    return Test(cause, function_id, event, None)


def answer(scope: Scope, version: Version, cause: str, trial: Trial) -> None:
    """What came of it, unless another question was asked meanwhile."""
    skill = book.locked(scope, version.skill_id)
    known = known_test(versions.get(scope, version.id))
    if known is None or known.cause != cause:
        return
    facts = {"cause": cause, "function_id": known.function_id, "event": dict(known.event)}
    told = {"runs": trial.runs, "failed": trial.failed, "differences": list(trial.differences)}
    _write(scope, version.id, {**facts, "trial": told})
    book.touch(scope, skill)


def known_test(version: Version) -> Test | None:
    """The last question about this version, answered or not."""
    known = version.stage_facts.get(_FACT)
    if not isinstance(known, Mapping):
        return None
    told = known.get("trial")
    trial = Trial(int(told["runs"]), str(told["failed"]), tuple(told["differences"])) if told is not None else None
    return Test(str(known["cause"]), str(known["function_id"]), known["event"], trial)


def _write(scope: Scope, version_id: str, test: Mapping[str, Any]) -> None:
    facts = {**versions.get(scope, version_id).stage_facts, _FACT: dict(test)}
    scope.change(scope.update(skill_versions).where(skill_versions.c.id == version_id).values(stage_facts=facts))
