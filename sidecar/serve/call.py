"""Answer a call of the engine for a skill, with the version that its run began on."""

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
# The signature and what the engine says of itself are not for the skill's process.
_FORWARDED_HEADERS = ("content-type", "traceparent", "tracestate", "x-run-id", "x-request-id", "x-inngest-job-id")
_COME_BACK_SECONDS = 30
_MALFORMED = (ValueError, TypeError, KeyError, AttributeError, IndexError)


@dataclass(frozen=True)
class _EngineCall:
    """What the sidecar reads of a call. `body` holds the whole state of the run, unless `lacks_state`."""

    run: RunCall
    body: bytes
    memos: Mapping[str, Any]
    attempt: int
    max_attempts: int | None
    lacks_state: bool


def answer_engine_call(
    skill: ServedSkill, engine: Engine, path: str, query: str, body: bytes, headers: Mapping[str, str]
) -> EngineReply:
    """Let the run's version answer. Whatever happens to its process, the engine gets a reason that it can show."""
    try:
        call = _parse_call(skill.stem, query, body)
    except _MALFORMED:
        return _reply_malformed()
    try:
        if call.lacks_state:
            call = _parse_call(skill.stem, query, _with_state(body, engine, call.run.run_id))
    except _MALFORMED:
        return _reply_malformed()
    except LoopwrightError as error:
        return _reply_unserved(skill, call, "state_missing", str(error))
    try:
        version = skill.runs.version_for(call.run)
    except SQLAlchemyError as error:
        return _reply_database_away(skill, call, error)
    match version:
        case None:
            return failure_reply(500, "skill_gone", f"{skill.stem}: {SKILL_GONE}", retry=False)
        case KnownAnswer(output=output):
            return EngineReply(200, json.dumps(output).encode(), {"content-type": "application/json"})
        case CheckedVersion():
            forwarded = {name: headers[name] for name in _FORWARDED_HEADERS if name in headers}
            return _answer_with(skill, version, call, path, query, forwarded)


def turn_away_call(skill: ServedSkill, query: str, body: bytes) -> EngineReply:
    """Refuse a call for which there is no free slot; the engine tries again later."""
    try:
        call = _parse_call(skill.stem, query, body)
    except _MALFORMED:
        return _reply_malformed()
    return _reply_unserved(skill, call, "busy", "so many of its runs are under way that there is no place for another")


def refuse_call(status: int, code: str, message: str) -> EngineReply:
    """Return an error in the SDK's form, which the engine shows and does not retry."""
    return failure_reply(status, code, message, retry=False)


def _answer_with(
    skill: ServedSkill, version: CheckedVersion, call: _EngineCall, path: str, query: str, forwarded: Mapping[str, str]
) -> EngineReply:
    def note_refusal(what: RefusalKind, detail: str) -> None:
        try:
            skill.runs.record_refusal(version, call.run.run_id, what, detail)
        except SQLAlchemyError as error:
            _log.warning("skill %s: a refusal is not written down: %s", skill.stem, error)

    try:
        response = _call_child(skill, version, call, path, query, forwarded)
    except RefusedSkillError as error:
        reply = failure_reply(
            500, "skill_refused", f"version {version.number} of {skill.stem} no longer loads: {error}"
        )
    except EndedError as error:
        note_refusal("ended", str(error))
        reply = failure_reply(500, "skill_ended", f"{skill.stem}: {error}")
    except UnavailableError as error:
        return _reply_unserved(skill, call, "process_lost", str(error))
    else:
        if tried := response.extensions.get("tried"):
            note_refusal("attempt", f"it tried to {'; '.join(tried)}")
        own = {str(function["id"]) for function in version.functions}
        try:
            reply = filter_reply(response, version.manifest, own, skill.granted, note_refusal)
        except SQLAlchemyError as error:
            return _reply_database_away(skill, call, error)
    _note_end(skill, call, reply)
    return reply


def _call_child(
    skill: ServedSkill, version: CheckedVersion, call: _EngineCall, path: str, query: str, forwarded: Mapping[str, str]
) -> httpx.Response:
    """Call the version's process, and once more in a separate process if the shared one was lost.

    Any answer to the engine costs the run an attempt, and another run may have taken the process down. In the separate
    process only this run can be at fault.
    """
    try:
        return skill.child(version).call("POST", path, query, call.body, forwarded)
    except ProcessLostError as error:
        _log.warning("skill %s: run %s is called again: %s", skill.stem, call.run.run_id, error)
    with skill.separate_child(version) as child:
        return child.call("POST", path, query, call.body, forwarded)


def _reply_malformed() -> EngineReply:
    return failure_reply(400, "malformed_call", "the call is not in the form of Inngest's protocol", retry=False)


def _reply_database_away(skill: ServedSkill, call: _EngineCall, error: SQLAlchemyError) -> EngineReply:
    _log.warning("skill %s: the database does not answer: %s", skill.stem, error)
    return _reply_unserved(skill, call, "database_away", "the database does not answer")


def _reply_unserved(skill: ServedSkill, call: _EngineCall, name: SidecarFault, why: str) -> EngineReply:
    """Answer that the skill could not be called, which is not its fault.

    Every answer costs an attempt, so the engine is asked to come back after a while. If this was the last attempt, it
    counts against no version.
    """
    reply = failure_reply(503, name, f"{skill.stem}: {why}", wait=_COME_BACK_SECONDS)
    _note_end(skill, call, reply, served=False)
    return reply


def _note_end(skill: ServedSkill, call: _EngineCall, reply: EngineReply, *, served: bool = True) -> None:
    """Record how the run ended, if this answer is its last; `served` is whether the skill answered itself."""
    run_id, attempts = call.run.run_id, call.attempt + 1
    try:
        if reply.status == 200:
            skill.runs.keep_memos(run_id, call.memos)
            skill.runs.record_end(run_id, "completed", output=_parse_json(reply.body), attempts=attempts)
        elif reply.status >= 400:
            last = call.max_attempts is not None and attempts >= call.max_attempts
            if last or reply.headers.get("x-inngest-no-retry") == "true":
                skill.runs.record_end(run_id, "failed", error=_parse_json(reply.body), attempts=attempts, served=served)
    except SQLAlchemyError as error:
        # The sweep asks the engine about runs that are not called for a while.
        _log.warning("skill %s: the end of run %s is not written down: %s", skill.stem, run_id, error)


def _parse_call(stem: str, query: str, body: bytes) -> _EngineCall:
    """Read a call; raises one of _MALFORMED."""
    call = json.loads(body)
    ctx = call["ctx"]
    most = ctx.get("max_attempts")
    function_id = parse_qs(query)["fnId"][0].removeprefix(f"skill-{stem}-")
    event, memos = call.get("event"), call.get("steps")
    return _EngineCall(
        run=RunCall(str(ctx["run_id"]), function_id, event if isinstance(event, dict) else {}),
        body=body,
        memos=memos if isinstance(memos, dict) else {},
        attempt=int(ctx.get("attempt") or 0),
        max_attempts=int(most) if most is not None else None,
        lacks_state=bool(call.get("use_api") or ctx.get("use_api")),
    )


def _with_state(body: bytes, engine: Engine, run_id: str) -> bytes:
    """Return the call with its state fetched from the engine, since the skill's process has no key to do so."""
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
