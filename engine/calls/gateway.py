"""AI gateway steps: the engine calls a model provider on behalf of an app."""

import json
from typing import Any

import aiohttp

from engine.calls.outcome import CallOutcome, Opcode, Stepped
from engine.calls.transport import read_limited
from engine.formats.json_text import dumps, loads
from engine.storage.transaction import AppCall

ERROR_NAME = "AIGatewayError"


async def call_gateway(session: aiohttp.ClientSession, call: AppCall, started_at: int) -> CallOutcome:
    """POST the request that the step describes; the provider's JSON answer becomes the step's output."""
    opts = json.loads(call.body or "{}")
    own_headers = {_capitalise(str(name)): str(value) for name, value in (opts.get("headers") or {}).items()}
    headers = {"Content-Type": "application/json", **_auth(opts), **own_headers}
    url = str(opts.get("url") or "")
    if opts.get("format") == "gemini" and opts.get("auth_key"):
        url += f"{'&' if '?' in url else '?'}key={opts['auth_key']}"
    try:
        async with session.post(url, data=dumps(opts.get("body")).encode(), headers=headers) as response:
            text = await read_limited(response)
            status = response.status
    except (aiohttp.ClientError, OSError, ValueError) as error:
        return _error(call, f"the provider cannot be reached: {type(error).__name__}", started_at)
    if text is None:
        return _error(call, "the provider's answer is larger than 64 MiB", started_at)
    if status >= 400:
        return _error(call, f"the provider answered HTTP {status}: {text[:1000].decode(errors='replace')}", started_at)
    try:
        data = loads(text)
    except ValueError:
        return _error(call, "the provider's answer is not JSON", started_at)
    return CallOutcome(Stepped([_opcode(call, "StepRun", data=data, size=len(text))]), started_at)


def _auth(opts: dict[str, Any]) -> dict[str, str]:
    key = opts.get("auth_key")
    if not key:
        return {}
    match opts.get("format"):
        case "anthropic":
            return {"X-Api-Key": key}
        case "gemini":
            return {}
        case "bedrock":
            return {"Authorization": key}
        case _:
            return {"Authorization": f"Bearer {key}"}


def _capitalise(name: str) -> str:
    """Return `x-my-header` as `X-My-Header`, as the real server sends headers."""
    return "-".join(part.capitalize() for part in name.split("-"))


def _error(call: AppCall, message: str, started_at: int) -> CallOutcome:
    error = {"name": ERROR_NAME, "message": message, "stack": None}
    return CallOutcome(Stepped([_opcode(call, "StepError", error=error)]), started_at)


def _opcode(call: AppCall, op: str, *, data: Any = None, error: dict[str, Any] | None = None, size: int = 0) -> Opcode:
    return Opcode(op=op, id=call.step_id, name="", display_name="", opts={}, data=data, error=error, size=size)
