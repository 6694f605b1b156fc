"""One call of the engine for a skill: to the version its run began on, and back."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs

import httpx
from sqlalchemy.exc import SQLAlchemyError

from core.errors import LoopwrightError, UnavailableError
from core.orchestrator.engine import Engine
from sidecar.children import EndedError, LostError
from sidecar.pins import Call, Skipped
from sidecar.replies import Reply, failure, filtered
from sidecar.skill import Skill
from skills.problem import RefusedSkillError
from skills.refusals import What
from skills.versions import Version

_log = logging.getLogger(__name__)
# The engine's proof is for us, and what it calls itself is no news to a process that was told everything.
_PASSED_ON = ("content-type", "traceparent", "tracestate", "x-run-id", "x-request-id", "x-inngest-job-id")


@dataclass(frozen=True)
class _Asked:
    """What the sidecar reads of a call; `body` has all of the run's state."""

    call: Call
    body: bytes
    memos: Mapping[str, Any]
    attempt: int
    max_attempts: int | None


def answer(skill: Skill, engine: Engine, path: str, query: str, body: bytes, headers: Mapping[str, str]) -> Reply:
    """Let the right version answer. Whatever happens to its process, the engine gets a reason it can show."""
    try:
        asked = _asked(skill.stem, engine, query, body)
    except (ValueError, TypeError, KeyError, AttributeError, IndexError):
        return failure(400, "malformed_call", "the call is not in the form of Inngest's protocol", retry=False)
    except LoopwrightError as error:
        return failure(500, "state_missing", f"{skill.stem}: {error}")
    try:
        version = skill.runs.version_for(asked.call)
    except SQLAlchemyError as error:
        _log.warning("skill %s: the database does not answer: %s", skill.stem, error)
        return failure(500, "database_away", f"{skill.stem}: the database does not answer")
    match version:
        case None:
            return failure(500, "skill_gone", f"the skill {skill.stem} is gone or turned off", retry=False)
        case Skipped(why=why):
            return Reply(200, json.dumps({"skipped": why}).encode(), {"content-type": "application/json"})
        case Version():
            passed = {name: headers[name] for name in _PASSED_ON if name in headers}
            return _answered(skill, version, asked, path, query, passed)


def refusal(status: int, code: str, message: str) -> Reply:
    """An answer in the SDK's form, which the engine shows as it is and does not repeat."""
    return failure(status, code, message, retry=False)


def _answered(skill: Skill, version: Version, asked: _Asked, path: str, query: str, passed: Mapping[str, str]) -> Reply:
    def refused(what: What, detail: str) -> None:
        try:
            skill.runs.refused(version, asked.call.run_id, what, detail)
        except SQLAlchemyError as error:
            _log.warning("skill %s: a refusal is not written down: %s", skill.stem, error)

    try:
        response = _called(skill, version, asked, path, query, passed)
    except RefusedSkillError as error:
        reply = failure(500, "skill_refused", f"version {version.number} of {skill.stem} no longer loads: {error}")
    except UnavailableError as error:
        if isinstance(error, EndedError):
            refused("ended", str(error))
        reply = failure(500, "skill_ended", f"{skill.stem}: {error}")
    else:
        if tried := response.extensions.get("attempts"):
            refused("attempt", f"it tried to {'; '.join(tried)}")
        own = {str(function["id"]) for function in version.functions}
        try:
            reply = filtered(response, version.manifest, own, skill.granted, refused)
        except SQLAlchemyError as error:
            _log.warning("skill %s: the database does not answer: %s", skill.stem, error)
            return failure(500, "database_away", f"{skill.stem}: the database does not answer")
    _note_end(skill, asked, reply)
    return reply


def _called(
    skill: Skill, version: Version, asked: _Asked, path: str, query: str, passed: Mapping[str, str]
) -> httpx.Response:
    """Any answer that we give the engine costs the run an attempt, and what another run did is not its fault: so a call
    that lost its process is made once more, in one of its own. Whoever took that process takes its own only, then."""
    try:
        return skill.child(version).call("POST", path, query, asked.body, passed)
    except LostError as error:
        _log.warning("skill %s: run %s is called again by itself: %s", skill.stem, asked.call.run_id, error)
    with skill.alone(version) as child:
        return child.call("POST", path, query, asked.body, passed)


def _note_end(skill: Skill, asked: _Asked, reply: Reply) -> None:
    """Where this answer is the run's last, write down how it ended."""
    run_id, attempts = asked.call.run_id, asked.attempt + 1
    try:
        if reply.status == 200:
            skill.runs.remember(run_id, asked.memos)
            skill.runs.ended(run_id, "completed", output=_read(reply.body), attempts=attempts)
        elif reply.status >= 400:
            last = asked.max_attempts is not None and attempts >= asked.max_attempts
            if last or reply.headers.get("x-inngest-no-retry") == "true":
                skill.runs.ended(run_id, "failed", error=_read(reply.body), attempts=attempts)
    except SQLAlchemyError as error:
        # The engine knows how it ended; it is asked when nobody has called for a while.
        _log.warning("skill %s: the end of run %s is not written down: %s", skill.stem, run_id, error)


def _asked(stem: str, engine: Engine, query: str, body: bytes) -> _Asked:
    call = json.loads(body)
    ctx = call["ctx"]
    run_id = str(ctx["run_id"])
    if call.get("use_api") or ctx.get("use_api"):
        call = _with_state(call, engine, run_id)
        body = json.dumps(call).encode()
    most = ctx.get("max_attempts")
    function_id = parse_qs(query)["fnId"][0].removeprefix(f"skill-{stem}-")
    event, memos = call.get("event"), call.get("steps")
    return _Asked(
        call=Call(run_id, function_id, event if isinstance(event, dict) else {}),
        body=body,
        memos=memos if isinstance(memos, dict) else {},
        attempt=int(ctx.get("attempt") or 0),
        max_attempts=int(most) if most is not None else None,
    )


def _with_state(call: dict[str, Any], engine: Engine, run_id: str) -> dict[str, Any]:
    """The call with the state that was too large for it: the skill's process has no key to fetch it with."""
    events = engine.get(f"/v0/runs/{run_id}/batch")
    steps = engine.get(f"/v0/runs/{run_id}/actions")
    ctx = {**call["ctx"], "use_api": False}
    return {**call, "ctx": ctx, "event": events[0], "events": events, "steps": steps, "use_api": False}


def _read(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return None
