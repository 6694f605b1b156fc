"""Trace of a run: a tree of spans (the run, its steps, their attempts), with outputs as the APIs show them."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, select

from engine.formats.clock import rfc3339
from engine.formats.json_text import loads
from engine.history.runs import list_run_steps, name_step_status
from engine.rows import Row
from engine.storage.tables import FAILED, QUEUED, attempts

_OPS = {
    "StepRun": "RUN",
    "Step": "RUN",
    "StepPlanned": "RUN",
    "StepError": "RUN",
    "StepFailed": "RUN",
    "Sleep": "SLEEP",
    "WaitForEvent": "WAIT_FOR_EVENT",
    "InvokeFunction": "INVOKE",
    "AIGateway": "AI_GATEWAY",
}
FINALIZATION = "Finalization"


def listed_output(status: str, text: str | None) -> dict[str, Any] | None:
    """Return a run's output for a list: an object as it is, another value under `data`, an error under `error`."""
    if text is None:
        return None
    return {"error": loads(text)} if status == FAILED else _as_object(loads(text))


def plain_output(text: str | None) -> dict[str, Any] | None:
    """Return a run's output for the run itself: as in a list, but an error is not wrapped."""
    return None if text is None else _as_object(loads(text))


def memo_output(text: str | None) -> dict[str, Any] | None:
    """Return a step's output or error from its memo; None when it has none."""
    value = loads(text) if text is not None else None
    if not isinstance(value, dict):
        return None
    if value.keys() in ({"data"}, {"error"}):
        (value,) = value.values()
    return _as_object(value)


def _as_object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {"data": value}


def read_run_trace(connection: Connection, run: Row, *, with_output: bool) -> dict[str, Any]:
    """Return the root span of a run; its `children` are the steps, whose `children` are their attempts."""
    failed: dict[str, list[Row]] = {}
    for row in connection.execute(select(attempts).where(attempts.c.run_id == run.id).order_by(attempts.c.seq)):
        failed.setdefault(row.step_id, []).append(row)
    children = [
        _step(run, step, failed.get(step.step_id, []), with_output) for step in list_run_steps(connection, run.id)
    ]
    if failed.get("") or run.ended_at is not None:
        children.append(_finalization(run, failed.get("", []), with_output))
    status = "WAITING" if run.status == QUEUED else run.status
    root = _span(run.id, "Run", status, run.queued_at, run.started_at, run.ended_at)
    if with_output:
        root["input"] = loads(run.events)[0]
        _add(root, "output", plain_output(run.output))
    root["children"] = children
    return root


def _step(run: Row, step: Row, failed: list[Row], with_output: bool) -> dict[str, Any]:
    began = failed[0].started_at if failed else step.started_at or step.queued_at
    span = _span(step.step_id, step.name, name_step_status(run, step), step.queued_at, began, step.ended_at)
    span["stepOp"] = _OPS.get(step.op, "UNSPECIFIED")
    span["stepId"] = step.step_id
    output = memo_output(step.memo) if with_output else None
    _add(span, "output", output)
    # As on the real server, a step whose first attempt succeeded has no children.
    if failed or span["status"] == "FAILED":
        span["children"] = [_attempt(row, with_output) for row in failed]
        if step.position is not None:
            span["children"].append(_last_attempt(step, span["status"], output))
    return span


def _last_attempt(step: Row, status: str, output: dict[str, Any] | None) -> dict[str, Any]:
    name = f"Attempt {step.attempt}"
    span = _span(f"{step.step_id}-{step.attempt}", name, status, step.started_at, step.started_at, step.ended_at)
    _add(span, "output", output)
    return span


def _attempt(row: Row, with_output: bool) -> dict[str, Any]:
    span = _span(
        f"{row.step_id}-{row.attempt}", f"Attempt {row.attempt}", "FAILED", row.started_at, row.started_at, row.ended_at
    )
    if with_output:
        span["output"] = loads(row.error)
    return span


def _finalization(run: Row, failed: list[Row], with_output: bool) -> dict[str, Any]:
    status = "RUNNING" if run.ended_at is None else run.status
    began = failed[0].started_at if failed else run.ended_at
    span = _span(f"{run.id}-end", FINALIZATION, status, began, began, run.ended_at)
    output = plain_output(run.output) if with_output else None
    if failed:
        span["children"] = [_attempt(row, with_output) for row in failed]
        if run.ended_at is not None:
            last = _span(f"{run.id}-last", f"Attempt {len(failed)}", status, run.ended_at, run.ended_at, run.ended_at)
            _add(last, "output", output)
            span["children"].append(last)
    elif output is not None:
        span["output"] = output
    return span


def _span(span_id: str, name: str, status: str, queued: int, started: int | None, ended: int | None) -> dict[str, Any]:
    span: dict[str, Any] = {"id": span_id, "name": name, "status": status, "queuedAt": rfc3339(queued)}
    if started is not None:
        span["startedAt"] = rfc3339(started)
    if ended is not None:
        span["endedAt"] = rfc3339(ended)
        span["durationMs"] = str(max(ended - (started or queued), 0))
    return span


def _add(span: dict[str, Any], key: str, value: dict[str, Any] | None) -> None:
    if value is not None:
        span[key] = value
