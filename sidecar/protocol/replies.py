"""Filter what a skill's process answers the engine: read as hostile input, then written again by the sidecar."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field
from importlib.metadata import version as installed
from typing import Any

import httpx
from pydantic import TypeAdapter, ValidationError

from core.llm.text import load_strict_json
from sidecar.protocol.ops import KNOWN_OPS, Op, OpError, format_moment
from skills.book.refusals import RefusalKind
from skills.format.events import engine_function_id, wrong_event, wrong_invoke
from skills.format.manifest import SkillManifest

SDK = f"inngest-py:v{installed('inngest')}"
_MOST_OPS = 1000
_MOST_EXPRESSIONS = 10_000
"""Characters of all expressions in one answer. Checking one takes a thousand times as long as reading it."""
_SECONDS = re.compile(r"[0-9]{1,9}")
_OPS = TypeAdapter(list[Op])

NoteRefusal = Callable[[RefusalKind, str], None]
"""Receives each refusal: its kind, and what was refused."""
ReadGrants = Callable[[], Set[str]]
"""Returns what people have granted to the skill by now."""


@dataclass(frozen=True)
class EngineReply:
    """An HTTP answer to the engine."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


class _Refusal(Exception):
    def __init__(self, what: RefusalKind, detail: str) -> None:
        super().__init__(detail)
        self.what = what


def filter_reply(
    response: httpx.Response,
    manifest: SkillManifest,
    own_functions: Set[str],
    granted: ReadGrants,
    refused: NoteRefusal,
) -> EngineReply:
    """Return the answer, written again, if a function may give it; else call `refused` and return a final error.

    A function may return, fail, run or plan steps, and sleep. It may wait for events that the manifest listens to. It
    may invoke functions of the same file, whose full ids are `own_functions`, and those that the manifest names and
    people have `granted` by now. The engine does not retry the error.
    """
    try:
        match response.status_code:
            case 200:
                return _make_reply(200, _dump_json(_parse_json(response.content)), {})
            case 206:
                return _filter_ops(response, manifest, own_functions, granted)
            case status if 400 <= status < 600:
                return _filter_error(response)
            case status:
                raise _Refusal("op", f"the answer has the status {status}")
    except _Refusal as refusal:
        refused(refusal.what, str(refusal))
        return failure_reply(500, "skill_refused", f"refused: {refusal}", retry=False)


def failure_reply(status: int, code: str, message: str, *, retry: bool = True, wait: int = 1) -> EngineReply:
    """Return an error of ours in the SDK's form, which the engine shows.

    With `retry`, the engine tries again after `wait` seconds.
    """
    body = json.dumps({"code": code, "name": code, "message": message, "stack": None}).encode()
    return _make_reply(status, body, {"retry-after": str(wait)} if retry else {"x-inngest-no-retry": "true"})


def _filter_ops(
    response: httpx.Response, manifest: SkillManifest, own_functions: Set[str], granted: ReadGrants
) -> EngineReply:
    ops_read = _parse_json(response.content)
    if not isinstance(ops_read, list) or not 1 <= len(ops_read) <= _MOST_OPS:
        raise _Refusal("op", f"the answer is not a list of 1 to {_MOST_OPS} ops")
    for one in ops_read:
        _require_known_op(one)
    if sum(map(_expression_size, ops_read)) > _MOST_EXPRESSIONS:
        raise _Refusal("op", f"the expressions of its waits have more than {_MOST_EXPRESSIONS} characters")
    try:
        ops = _OPS.validate_python(ops_read)
    except ValidationError as error:
        wrong = error.errors()[0]
        where = ".".join(str(part) for part in wrong["loc"])
        raise _Refusal("op", f"the answer's op is malformed: {where}: {wrong['msg']}") from None
    named = {engine_function_id(name): name for name in manifest.permissions.invoke}
    listen = manifest.permissions.events.get("listen", [])
    for op in ops:
        if (event := op.waits_for) is not None and (event not in listen or wrong_event(event) is not None):
            raise _Refusal("wait", f"it waits for {event}, which events.listen does not name or must not name")
        if (function := op.invokes) is not None and function not in own_functions:
            if wrong_invoke(function) is not None:
                raise _Refusal("invoke", f"it invokes {function}, which is Loopwright's own")
            if function not in named:
                raise _Refusal("invoke", f"it invokes {function}, which the manifest's invoke does not name")
            if f"invoke:{named[function]}" not in granted():
                raise _Refusal("invoke", f"the manifest asks to invoke {function}, which has not been granted yet")
    return _make_reply(206, _dump_json([op.to_wire() for op in ops]), _keep_headers(response.headers))


def _expression_size(op: Any) -> int:
    opts = op.get("opts")
    expression = opts.get("if") if isinstance(opts, dict) else None
    return len(expression) if isinstance(expression, str) else 0


def _require_known_op(read: Any) -> None:
    """Refuse unknown ops by name, before anything else in them is read."""
    op = read.get("op") if isinstance(read, dict) else None
    if op == "AIGateway":
        raise _Refusal("gateway", "the op AIGateway (step.ai) is not for skills: ask models through skills.kit.llm")
    if not isinstance(op, str) or op not in KNOWN_OPS:
        raise _Refusal("op", f"the op {str(op)[:100]!r} is not for skills")


def _filter_error(response: httpx.Response) -> EngineReply:
    """Rewrite an error; what cannot be read is shown as text."""
    try:
        error = OpError.model_validate(_parse_json(response.content))
    except (ValidationError, _Refusal):
        text = response.content[:500].decode("utf-8", "replace")
        error = OpError(message=f"the skill's process answered {response.status_code}: {text}")
    body = json.dumps(error.to_wire()).encode()
    return _make_reply(response.status_code, body, _keep_headers(response.headers))


def _parse_json(body: bytes) -> Any:
    """Read strict JSON: UTF-8, and numbers that a float can hold."""
    try:
        text = body.decode("utf-8")
        return load_strict_json(text) if text.strip() else None
    except (ValueError, RecursionError) as error:
        raise _Refusal("op", f"the answer is not JSON ({error})") from None


def _dump_json(value: Any) -> bytes:
    try:
        return json.dumps(value, allow_nan=False, separators=(",", ":")).encode()
    except RecursionError:
        raise _Refusal("op", "what a step returns is nested too deeply") from None


def _keep_headers(headers: httpx.Headers) -> dict[str, str]:
    found = {}
    if headers.get("x-inngest-no-retry") == "true":
        found["x-inngest-no-retry"] = "true"
    if (later := _read_retry_after(headers.get("retry-after", ""))) is not None:
        found["retry-after"] = later
    return found


def _read_retry_after(value: str) -> str | None:
    """Return when to try again, in seconds or as a moment; None for anything else."""
    if _SECONDS.fullmatch(value):
        return value
    try:
        return format_moment(value)
    except ValueError:
        return None


def _make_reply(status: int, body: bytes, headers: Mapping[str, str]) -> EngineReply:
    ours = {"content-type": "application/json", "x-inngest-sdk": SDK, "x-inngest-req-version": "2"}
    return EngineReply(status, body, ours | dict(headers))
