"""Answer one call of the engine for a skill, with the version that its run began on."""

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
from sidecar.pool.child_process import EndedError, ProcessLostError
from sidecar.protocol.replies import EngineReply, failure_reply, filter_reply
from sidecar.rollout.run_versions import SKILL_GONE, KnownAnswer, RunCall
from sidecar.rollout.served_skill import ServedSkill
from skills.book.refusals import RefusalKind
from skills.book.versions import CheckedVersion
from skills.format.problem import RefusedSkillError
from skills.lifecycle.infrastructure_errors import SidecarFault

_log = logging.getLogger(__name__)
# The engine's proof is for us, and what it calls itself is no news to a process that was told everything.
_FORWARDED_HEADERS = ("content-type", "traceparent", "tracestate", "x-run-id", "x-request-id", "x-inngest-job-id")
_COME_BACK_SECONDS = 30
_MALFORMED = (ValueError, TypeError, KeyError, AttributeError, IndexError)


@dataclass(frozen=True)
class _EngineCall:
    """What the sidecar reads of a call; `body` has all of the run's state, unless it `lacks_state`."""

    call: RunCall
    body: bytes
    memos: Mapping[str, Any]
    attempt: int
    max_attempts: int | None
    lacks_state: bool


def answer_engine_call(
    skill: ServedSkill, engine: Engine, path: str, query: str, body: bytes, headers: Mapping[str, str]
) -> EngineReply:
    """Let the right version answer. Whatever happens to its process, the engine gets a reason it can show."""
    try:
        asked = _parse_call(skill.stem, query, body)
    except _MALFORMED:
        return _reply_malformed()
    try:
        if asked.lacks_state:
            asked = _parse_call(skill.stem, query, _with_state(body, engine, asked.call.run_id))
    except _MALFORMED:
        return _reply_malformed()
    except LoopwrightError as error:
        return _reply_unserved(skill, asked, "state_missing", str(error))
    try:
        version = skill.runs.version_for(asked.call)
    except SQLAlchemyError as error:
        return _reply_database_away(skill, asked, error)
    match version:
        case None:
            return failure_reply(500, "skill_gone", f"{skill.stem}: {SKILL_GONE}", retry=False)
        case KnownAnswer(output=output):
            return EngineReply(200, json.dumps(output).encode(), {"content-type": "application/json"})
        case CheckedVersion():
            passed = {name: headers[name] for name in _FORWARDED_HEADERS if name in headers}
            return _answer_with(skill, version, asked, path, query, passed)


def turn_away_call(skill: ServedSkill, query: str, body: bytes) -> EngineReply:
    """There is no place for this call."""
    try:
        asked = _parse_call(skill.stem, query, body)
    except _MALFORMED:
        return _reply_malformed()
    return _reply_unserved(skill, asked, "busy", "so many of its runs are under way that there is no place for another")


def refuse_call(status: int, code: str, message: str) -> EngineReply:
    """An answer in the SDK's form, which the engine shows as it is and does not repeat."""
    return failure_reply(status, code, message, retry=False)


def _answer_with(
    skill: ServedSkill, version: CheckedVersion, asked: _EngineCall, path: str, query: str, passed: Mapping[str, str]
) -> EngineReply:
    def refused(what: RefusalKind, detail: str) -> None:
        try:
            skill.runs.refused(version, asked.call.run_id, what, detail)
        except SQLAlchemyError as error:
            _log.warning("skill %s: a refusal is not written down: %s", skill.stem, error)

    try:
        response = _call_child(skill, version, asked, path, query, passed)
    except RefusedSkillError as error:
        reply = failure_reply(
            500, "skill_refused", f"version {version.number} of {skill.stem} no longer loads: {error}"
        )
    except EndedError as error:
        refused("ended", str(error))
        reply = failure_reply(500, "skill_ended", f"{skill.stem}: {error}")
    except UnavailableError as error:
        return _reply_unserved(skill, asked, "process_lost", str(error))
    else:
        if tried := response.extensions.get("tried"):
            refused("attempt", f"it tried to {'; '.join(tried)}")
        own = {str(function["id"]) for function in version.functions}
        try:
            reply = filter_reply(response, version.manifest, own, skill.granted, refused)
        except SQLAlchemyError as error:
            return _reply_database_away(skill, asked, error)
    _note_end(skill, asked, reply)
    return reply


def _call_child(
    skill: ServedSkill, version: CheckedVersion, asked: _EngineCall, path: str, query: str, passed: Mapping[str, str]
) -> httpx.Response:
    """Any answer that we give the engine costs the run an attempt, and what another run did is not its fault: so a call
    that lost its process is made once more, if it can be in one of its own, of which whoever took it takes no other's.
    """
    try:
        return skill.child(version).call("POST", path, query, asked.body, passed)
    except ProcessLostError as error:
        _log.warning("skill %s: run %s is called again: %s", skill.stem, asked.call.run_id, error)
    with skill.again(version) as child:
        return child.call("POST", path, query, asked.body, passed)


def _reply_malformed() -> EngineReply:
    return failure_reply(400, "malformed_call", "the call is not in the form of Inngest's protocol", retry=False)


def _reply_database_away(skill: ServedSkill, asked: _EngineCall, error: SQLAlchemyError) -> EngineReply:
    _log.warning("skill %s: the database does not answer: %s", skill.stem, error)
    return _reply_unserved(skill, asked, "database_away", "the database does not answer")


def _reply_unserved(skill: ServedSkill, asked: _EngineCall, name: SidecarFault, why: str) -> EngineReply:
    """The skill did not answer, and not by its own fault. An engine has no answer that costs no attempt, so it is asked
    to come back when things may be better, and should it not, that speaks against no version."""
    reply = failure_reply(503, name, f"{skill.stem}: {why}", wait=_COME_BACK_SECONDS)
    _note_end(skill, asked, reply, served=False)
    return reply


def _note_end(skill: ServedSkill, asked: _EngineCall, reply: EngineReply, *, served: bool = True) -> None:
    """Where this answer is the run's last, write down how it ended, and whether the skill was `served`."""
    run_id, attempts = asked.call.run_id, asked.attempt + 1
    try:
        if reply.status == 200:
            skill.runs.remember(run_id, asked.memos)
            skill.runs.ended(run_id, "completed", output=_parse_json(reply.body), attempts=attempts)
        elif reply.status >= 400:
            last = asked.max_attempts is not None and attempts >= asked.max_attempts
            if last or reply.headers.get("x-inngest-no-retry") == "true":
                skill.runs.ended(run_id, "failed", error=_parse_json(reply.body), attempts=attempts, served=served)
    except SQLAlchemyError as error:
        # The engine knows how it ended; it is asked when nobody has called for a while.
        _log.warning("skill %s: the end of run %s is not written down: %s", skill.stem, run_id, error)


def _parse_call(stem: str, query: str, body: bytes) -> _EngineCall:
    """Raises one of _MALFORMED."""
    call = json.loads(body)
    ctx = call["ctx"]
    most = ctx.get("max_attempts")
    function_id = parse_qs(query)["fnId"][0].removeprefix(f"skill-{stem}-")
    event, memos = call.get("event"), call.get("steps")
    return _EngineCall(
        call=RunCall(str(ctx["run_id"]), function_id, event if isinstance(event, dict) else {}),
        body=body,
        memos=memos if isinstance(memos, dict) else {},
        attempt=int(ctx.get("attempt") or 0),
        max_attempts=int(most) if most is not None else None,
        lacks_state=bool(call.get("use_api") or ctx.get("use_api")),
    )


def _with_state(body: bytes, engine: Engine, run_id: str) -> bytes:
    """The call with the state that was too large for it: the skill's process has no key to fetch it with."""
    call = json.loads(body)
    events = engine.get(f"/v0/runs/{run_id}/batch")
    steps = engine.get(f"/v0/runs/{run_id}/actions")
    ctx = {**call["ctx"], "use_api": False}
    return json.dumps(
        {**call, "ctx": ctx, "event": events[0], "events": events, "steps": steps, "use_api": False}
    ).encode()


def _parse_json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return None
