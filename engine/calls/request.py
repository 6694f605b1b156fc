"""Request body of a call to an app."""

from collections.abc import Iterable
from dataclasses import dataclass

from engine.formats.json_text import dumps, loads
from engine.storage.transaction import AppCall


@dataclass(frozen=True)
class RequestIds:
    """Ids that are new with every request."""

    request_id: str
    generation_id: int


def build_body(call: AppCall, ids: RequestIds, max_inline: int) -> str:
    """Build the body: JSON with sorted keys, into which events and memos are copied as the text that was stored.

    When the state is larger than `max_inline` bytes, it is left out and the SDK fetches it from the API.
    """
    use_api = call.state_size > max_inline - 1024
    ctx = {
        "attempt": call.attempt,
        "disable_immediate_execution": call.plan_only,
        "env": "",
        "fn_id": call.function_id,
        "generation_id": ids.generation_id,
        "job_id": call.item_id,
        "max_attempts": call.max_attempts,
        "qi_id": call.item_id,
        "request_id": ids.request_id,
        "run_id": call.run_id,
        "stack": {"current": len(call.memos), "stack": [step_id for step_id, _ in call.memos]},
        "step_id": "step",
        "use_api": use_api,
    }
    parts = {
        "ctx": dumps(ctx),
        "defers": "{}",
        "event": _first_event(call),
        "events": "[]" if use_api else call.events,
        "steps": "{}" if use_api else memos_text(call.memos),
        "use_api": "true" if use_api else "false",
        "version": str(call.sdk_version),
    }
    return "{" + ",".join(f'"{key}":{text}' for key, text in parts.items()) + "}"


def memos_text(memos: Iterable[tuple[str, str]]) -> str:
    """Build the `steps` object: memos by hashed step id."""
    pairs = sorted(memos)
    return "{" + ",".join(f'"{step_id}":{memo}' for step_id, memo in pairs) + "}"


def _first_event(call: AppCall) -> str:
    """Return the text of the first event; a list of one is unwrapped without parsing."""
    return dumps(loads(call.events)[0]) if call.batched else call.events[1:-1]
