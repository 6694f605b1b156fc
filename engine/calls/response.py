"""Response of an app, read into an outcome."""

import json
from collections.abc import Mapping
from typing import Any

from engine.calls.outcome import CallOutcome, FunctionFailed, Opcode, Returned, Stepped
from engine.calls.retry import retry_after_ms
from engine.formats.json_text import clean_text, dumps, loads

FATAL = "Server returned a fatal error"


def read_answer(status: int, headers: Mapping[str, str], body: bytes, *, started_at: int, now: int) -> CallOutcome:
    """Read an answer; one that does not come from an SDK is a failed attempt."""
    if status == 201:
        return _unwrap(headers, body, started_at, now)
    retry_after = headers.get("retry-after")
    version = headers.get("x-inngest-req-version", "")
    if "x-inngest-sdk" not in headers:
        return CallOutcome(FunctionFailed(_foreign_error(status, body)), started_at)
    return CallOutcome(
        _read_body(status, body),
        started_at,
        no_retry=headers.get("x-inngest-no-retry") == "true",
        retry_at=retry_after_ms(retry_after, now) if retry_after else None,
        sdk_version=int(version) if version.isdigit() else None,
    )


def _read_body(status: int, body: bytes) -> Returned | Stepped | FunctionFailed:
    try:
        value = loads(body) if body.strip() else None
    except (ValueError, RecursionError) as error:
        message = f"the app's answer (HTTP {status}, {len(body)} bytes) is not JSON: {error}"
        return FunctionFailed({"name": FATAL, "message": message, "stack": None})
    if status == 206:
        return _read_opcodes(value)
    if status == 200:
        return Returned(dumps(value))
    summary = f"invalid status code: {status}"
    if isinstance(value, dict) and ("message" in value or "name" in value):
        return FunctionFailed(value, summary)
    return FunctionFailed(_foreign_error(status, body), summary)


def _read_opcodes(value: Any) -> Stepped | FunctionFailed:
    codes: list[Any] = value if isinstance(value, list) else [None]
    if not all(isinstance(code, dict) and code.get("op") and code.get("id") for code in codes):
        return FunctionFailed(
            {"name": FATAL, "message": "the app answered 206 without a list of opcodes", "stack": None}
        )
    return Stepped([_opcode(code) for code in codes])


def _opcode(code: dict[str, Any]) -> Opcode:
    data, error = code.get("data"), code.get("error")
    name = clean_text(str(code.get("name") or ""))
    return Opcode(
        op=code["op"],
        id=clean_text(str(code["id"])),
        name=name,
        display_name=clean_text(str(code.get("displayName") or name)),
        opts=code.get("opts") or {},
        data=data,
        error=error,
        size=len(dumps(data if error is None else error).encode()),
    )


def _unwrap(headers: Mapping[str, str], body: bytes, started_at: int, now: int) -> CallOutcome:
    """Read a streamed answer (201): white space, then `{status, headers, body}`."""
    try:
        wrapper = json.loads(body)
        inner = {str(key).lower(): str(value) for key, value in wrapper["headers"].items()}
        status, text = int(wrapper["status"]), wrapper["body"]
    except (ValueError, KeyError, TypeError, AttributeError):
        return CallOutcome(FunctionFailed(_foreign_error(201, body)), started_at)
    raw = text if isinstance(text, str) else json.dumps(text)
    return read_answer(
        status if status != 201 else 200, {**headers, **inner}, raw.encode(), started_at=started_at, now=now
    )


def _foreign_error(status: int, body: bytes) -> dict[str, Any]:
    text = body[:2000].decode(errors="replace")
    message = f"{FATAL}: HTTP {status}, and not from an Inngest SDK: {text}"
    return {"name": FATAL, "message": message, "stack": None}
