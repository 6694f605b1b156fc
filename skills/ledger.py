"""The ledger of runs as the engine tells of their ends, whether or not anybody served the skill at that moment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from core.database import Database, Scope
from core.identity import HOME_WORKSPACE
from core.orchestrator.run_facts import queue_time
from skills import book, endings, runs, versions
from skills.runs import Ended
from skills.unserved import unserved
from skills.versions import Version

APP = "skill-"
"""What the engine-wide ids of every skill's functions begin with."""


@dataclass(frozen=True)
class End:
    """A run that ended, as the engine tells of it; `function` is its engine-wide id, `event` what began it."""

    function: str
    run_id: str
    status: Ended
    at: datetime
    output: Any = None
    error: Any = None
    event: Any = None


def record(database: Database, end: End, failures: int) -> str:
    """Write down how a run of a skill ended, once; answers what that changed.

    `known`: it stood so already, as it does when the sidecar gave the last answer. `ended`: it was still running.
    `corrected`: the engine made something else of the last answer, and has the last word. `entered`: the sidecar never
    heard of the run. `not ours`: no skill of the book has the function. `failures` in a row end the service of a
    version; those that came of nobody's answering are not counted.
    """
    with database.reading(HOME_WORKSPACE) as scope:
        known = runs.find(scope, end.run_id)
    if known is not None and known.status == end.status:
        return "known"
    with database.transaction(HOME_WORKSPACE, "skill-run-end") as scope:
        return _ended(scope, end, failures) or _entered(scope, end)


def _ended(scope: Scope, end: End, failures: int) -> str:
    """What that changed of the run's row; empty when there is none."""
    run = runs.find(scope, end.run_id)
    if run is None:
        return ""
    if run.status == end.status:
        return "known"
    at = max(end.at, run.began_at)
    served = run.status == "failed" or not unserved(end.error)
    told = {"output": end.output, "error": _said(end.error), "at": at, "served": served}
    if not endings.note(scope, end.run_id, end.status, most=failures, was=run.status, **told):
        return "known"
    _have_followed(scope, run.skill_id)
    return "ended" if run.status == "running" else "corrected"


def _entered(scope: Scope, end: End) -> str:
    began = min(queue_time(end.run_id) or end.at, end.at)
    version, function_id = _meant(scope, end.function, began)
    if version is None:
        return "not ours"
    added = runs.entered(
        scope,
        run_id=end.run_id,
        skill_id=version.skill_id,
        function_id=function_id,
        version_id=version.id,
        event=end.event if isinstance(end.event, Mapping) else {},
        status=end.status,
        output=end.output,
        error=_said(end.error),
        attempts=version.attempts_of(function_id) if unserved(end.error) else 0,
        began_at=began,
        ended_at=end.at,
        handler=version.is_handler(function_id),
    )
    if not added:
        return "known"
    scope.changed("skill", version.skill_id)
    return "entered"


def _meant(scope: Scope, function: str, at: datetime) -> tuple[Version | None, str]:
    """The version that served this function at that moment, and the function's own name.

    A stem may hold a dash, so a longer one that fits is looked at first.
    """
    fitting = [skill.id for skill in book.listing(scope) if function.startswith(f"{APP}{skill.id}-")]
    for stem in sorted(fitting, key=len, reverse=True):
        own = function.removeprefix(f"{APP}{stem}-")
        version = versions.served_with(scope, stem, own, at) or versions.served_with(scope, stem, own)
        if version is not None:
            return version, own
    return None, ""


def _have_followed(scope: Scope, stem: str) -> None:
    """A candidate may go further by what the run came to: whoever serves the skill looks again."""
    if (skill := book.find(scope, stem)) is not None and skill.candidate_id is not None:
        book.touch(scope, book.locked(scope, stem))


def _said(error: Any) -> Any:
    """The error; where the engine itself gave up on a run, some repeat all of it as the text of its message."""
    if not isinstance(error, Mapping):
        return error
    told, message = error.get("error"), error.get("message")
    is_repeated = isinstance(told, str) and isinstance(message, str) and message.startswith('{"error":')
    return {**error, "message": told} if is_repeated else error
