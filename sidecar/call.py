"""One call of the engine for a skill: to the version its run began on, and back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import version as installed
from typing import Any

import httpx

from core.errors import LoopwrightError, UnavailableError
from core.orchestrator.engine import Engine
from sidecar.skill import Skill
from skills.problem import RefusedSkillError

_SDK = f"inngest-py:v{installed('inngest')}"
# The engine's proof is for us, and what it calls itself is no news to a process that was told everything.
_PASSED_ON = ("content-type", "traceparent", "tracestate", "x-run-id", "x-request-id", "x-inngest-job-id")
_PASSED_BACK = ("content-type", "retry-after", "server-timing")


@dataclass(frozen=True)
class Reply:
    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class _Facts:
    """What the sidecar reads of a call's body."""

    run_id: str
    attempt: int
    max_attempts: int | None
    use_api: bool


def answer(skill: Skill, engine: Engine, path: str, query: str, body: bytes, headers: Mapping[str, str]) -> Reply:
    """Let the right version answer. Whatever happens to its process, the engine gets a reason it can show."""
    try:
        call = json.loads(body)
        facts = _facts(call)
    except (ValueError, TypeError, KeyError, AttributeError):
        return _failure(400, "malformed_call", "the call is not in the form of Inngest's protocol", retry=False)
    version = skill.version_for(facts.run_id)
    if version is None:
        return _failure(500, "skill_gone", f"the skill {skill.stem} is gone; its file was deleted", retry=False)
    try:
        if facts.use_api:
            body = _with_state(call, engine, facts.run_id)
        passed = {name: headers[name] for name in _PASSED_ON if name in headers}
        response = skill.child(version).call("POST", path, query, body, passed)
    except RefusedSkillError as error:
        return _failure(500, "skill_refused", f"version {version.sha[:12]} of {skill.stem} no longer loads: {error}")
    except UnavailableError as error:
        return _failure(500, "skill_ended", f"{skill.stem}: {error}")
    except LoopwrightError as error:
        return _failure(500, "state_missing", f"{skill.stem}: {error}")
    if _ends_run(response, facts):
        skill.run_ended(facts.run_id)
    return _reply(response)


def refusal(status: int, code: str, message: str) -> Reply:
    """An answer in the SDK's form, which the engine shows as it is and does not repeat."""
    return _failure(status, code, message, retry=False)


def _facts(call: Any) -> _Facts:
    ctx = call["ctx"]
    most = ctx.get("max_attempts")
    return _Facts(
        run_id=str(ctx["run_id"]),
        attempt=int(ctx.get("attempt") or 0),
        max_attempts=int(most) if most is not None else None,
        use_api=bool(call.get("use_api") or ctx.get("use_api")),
    )


def _with_state(call: dict[str, Any], engine: Engine, run_id: str) -> bytes:
    """The call with the state that was too large for it: the skill's process has no key to fetch it with."""
    events = engine.get(f"/v0/runs/{run_id}/batch")
    steps = engine.get(f"/v0/runs/{run_id}/actions")
    ctx = {**call["ctx"], "use_api": False}
    whole = {**call, "ctx": ctx, "event": events[0], "events": events, "steps": steps, "use_api": False}
    return json.dumps(whole).encode()


def _ends_run(response: httpx.Response, facts: _Facts) -> bool:
    if response.status_code == 200:
        return True
    if response.status_code < 400:
        return False
    last = facts.max_attempts is not None and facts.attempt + 1 >= facts.max_attempts
    return last or response.headers.get("x-inngest-no-retry") == "true"


def _reply(response: httpx.Response) -> Reply:
    headers = {
        name: value
        for name, value in response.headers.items()
        if name in _PASSED_BACK or (name.startswith("x-inngest-") and name != "x-inngest-signature")
    }
    return Reply(response.status_code, response.content, {"x-inngest-sdk": _SDK, **headers})


def _failure(status: int, code: str, message: str, *, retry: bool = True) -> Reply:
    body = json.dumps({"code": code, "name": code, "message": message, "stack": None}).encode()
    headers = {"content-type": "application/json", "x-inngest-sdk": _SDK, "x-inngest-req-version": "2"}
    headers |= {"retry-after": "1"} if retry else {"x-inngest-no-retry": "true"}
    return Reply(status, body, headers)
