"""The body of an execution request."""

from collections.abc import Iterable
from dataclasses import dataclass

from engine.formats.json_text import dumps, loads
from engine.storage.transaction import AppCall


@dataclass(frozen=True)
class RequestIds:
    request_id: str
    generation_id: int


def build_body(call: AppCall, ids: RequestIds, max_inline: int) -> str:
    """JSON with sorted keys; the parts that were stored as JSON go in as they are."""
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
        "event": first_event(call),
        "events": "[]" if use_api else call.events,
        "steps": "{}" if use_api else memos_text(call.memos),
        "use_api": "true" if use_api else "false",
        "version": str(call.sdk_version),
    }
    return "{" + ",".join(f'"{key}":{text}' for key, text in parts.items()) + "}"


def memos_text(memos: Iterable[tuple[str, str]]) -> str:
    """The `steps` object of a request."""
    pairs = sorted(memos)
    return "{" + ",".join(f'"{step_id}":{memo}' for step_id, memo in pairs) + "}"


def first_event(call: AppCall) -> str:
    """The text of the first event; the list of a single one is unwrapped without parsing."""
    return dumps(loads(call.events)[0]) if call.batched else call.events[1:-1]
