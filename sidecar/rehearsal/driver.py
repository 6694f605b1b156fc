"""Drive one function to its end over Inngest's protocol: steps are remembered, and waits end immediately."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import urlencode

import httpx

from core.errors import UnavailableError
from sidecar.protocol.replies import EngineReply, NoteRefusal, filter_reply
from skills.format.manifest import SkillManifest

MOST_PLAYED_CALLS = 200
"""Calls of a run with few steps; a recorded run with many steps allows more."""
MOST_PLAYED_ATTEMPTS = 3
MOST_PLAYED_SECONDS = 120.0


class Callee(Protocol):
    """A process that serves the version."""

    def call(
        self,
        method: str,
        path: str,
        query: str,
        body: bytes,
        headers: Mapping[str, str],
        *,
        seconds: float | None = None,
    ) -> httpx.Response: ...


@dataclass(frozen=True)
class RehearsedFunction:
    """The function to run, with its event and what it may do."""

    stem: str
    function_id: str
    manifest: SkillManifest
    own_functions: frozenset[str]
    granted: frozenset[str]
    run_id: str
    event: Mapping[str, Any]

    @property
    def full_id(self) -> str:
        return f"skill-{self.stem}-{self.function_id}"


@dataclass(frozen=True)
class RehearsedStep:
    """An op that the function answered with."""

    op: str
    id: str
    name: str


@dataclass(frozen=True)
class PlayedRun:
    """How the run ended: with `output`, or with an `error`."""

    output: Any
    error: str | None
    steps: tuple[RehearsedStep, ...]
    invoked: tuple[Mapping[str, Any], ...]


@dataclass
class _RunMemory:
    """What an engine would remember of the run.

    `planned` are the ids of steps to call for, `attempts` the failed tries by step id. With `plan_only`, set by the
    first parallel group, the function plans each step and does not run it at once.
    """

    memos: dict[str, Any] = field(default_factory=dict)
    planned: list[str] = field(default_factory=list)
    attempts: dict[str, int] = field(default_factory=dict)
    steps: list[RehearsedStep] = field(default_factory=list)
    invoked: list[Mapping[str, Any]] = field(default_factory=list)
    plan_only: bool = False


class _RunFailed(Exception):
    """The run ended with an error."""


def play_run(
    function: RehearsedFunction, callee: Callee, remembered: Mapping[str, Any], refused: NoteRefusal
) -> PlayedRun:
    """Call the function until it ends.

    Sleeps end immediately. Waits and invocations are answered as in `remembered`, the memos of the recorded run by step
    id; without a memo a wait times out and an invocation returns nothing. A step that fails is tried three times in
    all, without a pause.
    """
    memory, until = _RunMemory(), time.monotonic() + MOST_PLAYED_SECONDS
    # A step of a parallel group takes two calls.
    most = MOST_PLAYED_CALLS + 2 * len(remembered)
    try:
        for _ in range(most):
            target = memory.planned.pop(0) if memory.planned else "step"
            reply = _call_function(function, callee, memory, target, until, refused)
            if reply.status == 200:
                output = json.loads(reply.body) if reply.body.strip() else None
                return PlayedRun(output, None, tuple(memory.steps), tuple(memory.invoked))
            if reply.status == 206:
                _apply_ops(memory, json.loads(reply.body), target, remembered)
            else:
                _try_again(memory, target, reply)
        raise _RunFailed(f"it did not end within {most} calls")
    except _RunFailed as over:
        return PlayedRun(None, str(over), tuple(memory.steps), tuple(memory.invoked))


def _call_function(
    function: RehearsedFunction, callee: Callee, memory: _RunMemory, target: str, until: float, refused: NoteRefusal
) -> EngineReply:
    left = until - time.monotonic()
    if left <= 0:
        raise _RunFailed(f"it did not end within {MOST_PLAYED_SECONDS:g} s")
    body = {
        "ctx": {
            "attempt": memory.attempts.get(target, 0),
            "disable_immediate_execution": memory.plan_only,
            "env": "",
            "fn_id": function.full_id,
            "max_attempts": MOST_PLAYED_ATTEMPTS,
            "run_id": function.run_id,
            "stack": {"current": len(memory.memos), "stack": list(memory.memos)},
            "step_id": target,
            "use_api": False,
        },
        "event": dict(function.event),
        "events": [dict(function.event)],
        "steps": memory.memos,
        "use_api": False,
        "version": 1,
    }
    query = urlencode({"fnId": function.full_id, "stepId": target})
    headers = {"content-type": "application/json"}
    try:
        answer = callee.call(
            "POST", f"/api/inngest/{function.stem}", query, json.dumps(body).encode(), headers, seconds=left
        )
    except UnavailableError as error:
        raise _RunFailed(str(error)) from None
    for tried in answer.extensions.get("tried", ()):
        refused("attempt", f"it tried to {tried}")
    return filter_reply(answer, function.manifest, function.own_functions, lambda: function.granted, refused)


def _apply_ops(memory: _RunMemory, ops: list[dict[str, Any]], target: str, remembered: Mapping[str, Any]) -> None:
    memory.plan_only = memory.plan_only or len(ops) > 1
    for op in ops:
        step_id = str(op["id"])
        memory.steps.append(RehearsedStep(str(op["op"]), step_id, str(op["displayName"])))
        match op["op"]:
            case "StepRun" | "Step":
                memory.memos[step_id] = {"data": op["data"]}
            case "StepError" if memory.attempts.get(target, 0) + 1 < MOST_PLAYED_ATTEMPTS:
                memory.attempts[target] = memory.attempts.get(target, 0) + 1
                if target != "step":
                    memory.planned.append(target)
                return
            case "StepError" | "StepFailed":
                memory.memos[step_id] = {"error": op["error"]}
            case "StepPlanned":
                memory.planned.append(step_id)
            case "InvokeFunction":
                memory.invoked.append({"function": op["opts"]["function_id"], "data": op["opts"]["payload"]["data"]})
                memory.memos[step_id] = remembered.get(step_id, {"data": None})
            case "WaitForEvent":
                memory.memos[step_id] = remembered.get(step_id)
            case _:
                memory.memos[step_id] = None
    memory.attempts.pop(target, None)


def _try_again(memory: _RunMemory, target: str, reply: EngineReply) -> None:
    """Count a failed call; raises _RunFailed when no try is left."""
    tried = memory.attempts[target] = memory.attempts.get(target, 0) + 1
    if reply.headers.get("x-inngest-no-retry") == "true" or tried >= MOST_PLAYED_ATTEMPTS:
        raise _RunFailed(_error_text(reply.body))
    if target != "step":
        memory.planned.append(target)


def _error_text(body: bytes) -> str:
    try:
        error = json.loads(body)
        return f"{error['name']}: {error['message']}"[:1000]
    except (ValueError, TypeError, KeyError):
        return body[:200].decode("utf-8", "replace")
