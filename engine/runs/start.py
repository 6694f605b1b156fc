"""Start a run: for events, by a direct invocation, or again with the events of an earlier run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import bindparam, insert, select

from engine.event import FUNCTION_INVOKED, EngineEvent, make_event
from engine.formats.json_text import loads
from engine.function import Function
from engine.history.runs import find_run, list_event_ids
from engine.runs.flow_control import concurrency_limits, key_value, priority_ms, throttled_until
from engine.runs.lifecycle import cancel_run
from engine.runs.pauses import CANCEL, add_pause
from engine.runs.steps import DISCOVER
from engine.settings import YEAR_MS
from engine.statement import Statement
from engine.storage.coordination import lock_name
from engine.storage.queue import CALL, START_TIMEOUT, QueueItem, put_item
from engine.storage.tables import run_events, runs
from engine.storage.transaction import Transaction

_SINGLETONS = Statement(select(runs).where(runs.c.singleton == bindparam("shared")).with_for_update())
_INSERT = Statement(insert(runs))
_NEVER_MS = 100 * YEAR_MS


def start_run(
    tx: Transaction,
    function: Function,
    events: Sequence[EngineEvent],
    *,
    cron: str | None = None,
    batch_id: str | None = None,
) -> str | None:
    """Queue a run of the function; returns its id, or None when its singleton is taken and it is to be skipped."""
    trigger = events[0]
    singleton = _singleton_key(function, trigger)
    if singleton is not None and not _make_way(tx, function, singleton):
        return None
    run_id = tx.new_id()
    due_at = max(throttled_until(tx, function, trigger), trigger.ts if cron is None else 0, tx.now)
    priority = priority_ms(function, trigger)
    limits = concurrency_limits(function, trigger)
    row = {
        "id": run_id,
        "function_id": function.id,
        "function_version": function.version,
        "event_id": trigger.id,
        "event_name": trigger.name,
        "batch_id": batch_id,
        "cron": cron,
        "status": "QUEUED",
        "queued_at": tx.now,
        "started_at": None,
        "ended_at": None,
        "output": None,
        "events": f"[{','.join(event.text for event in events)}]",
        "state_size": sum(len(event.text) for event in events),
        "stack_len": 0,
        "plan_only": False,
        "sdk_version": -1,
        "limits": json.dumps(limits),
        "priority_ms": priority,
        "singleton": singleton,
    }
    tx.later(_INSERT, row)
    if len(events) > 1:
        rows = [{"event_id": event.id, "run_id": run_id, "position": at} for at, event in enumerate(events)]
        tx.run(insert(run_events), rows)
    for entry in function.cancellations:
        expires_at = tx.now + (_NEVER_MS if entry.timeout_ms is None else entry.timeout_ms)
        add_pause(
            tx, CANCEL, run_id, entry.event, expires_at=expires_at, expression=entry.expression, trigger=trigger.body
        )
    if function.start_timeout_ms is not None:
        put_item(tx, QueueItem(START_TIMEOUT, due_at + function.start_timeout_ms, run_id=run_id))
    put_item(
        tx,
        QueueItem(
            CALL,
            due_at,
            run_id=run_id,
            step_id=DISCOVER,
            max_attempts=function.retries + 1,
            limits=limits,
            priority_ms=priority,
        ),
    )
    return run_id


def _singleton_key(function: Function, trigger: EngineEvent) -> str | None:
    if function.singleton is None:
        return None
    return f"{function.id}:{key_value(function.singleton.key, trigger)}"


def _make_way(tx: Transaction, function: Function, singleton: str) -> bool:
    lock_name(tx, singleton)
    active = tx.run(_SINGLETONS, {"shared": singleton}).all()
    if function.singleton is not None and function.singleton.mode == "skip":
        return not active
    for run in active:
        cancel_run(tx, run)
    return True


def invoke_function(tx: Transaction, function: Function, data: dict[str, Any]) -> tuple[str, str | None]:
    """Start the function with this data; returns the event's id and the run's, None when its singleton is taken."""
    given = {key: value for key, value in data.items() if key != "_inngest"}
    origin = {"fn_id": function.slug, "invoke_type": "api", "name": FUNCTION_INVOKED}
    event = make_event(tx.new_id(), FUNCTION_INVOKED, {**given, "_inngest": origin}, tx.now)
    tx.outbox.append(event)
    return event.id, start_run(tx, function, [event])


UNKNOWN, GONE, SKIPPED = "not_found", "function_gone", "run_skipped"


@dataclass(frozen=True)
class RerunRefusal:
    """It cannot be run again; `code` is one of the three above, `reason` for a person."""

    code: str
    reason: str


def rerun_run(tx: Transaction, run_id: str) -> str | RerunRefusal:
    """Start a new run with the same events, whatever became of the old one; returns its id or why there is none.

    Debounce, batching, rate limit and idempotency, which decide about events, do not apply; what governs runs does. A
    run that was invoked by another does not answer that one a second time.
    """
    run = find_run(tx.connection, run_id)
    if run is None:
        return RerunRefusal(UNKNOWN, "there is no such run")
    function = tx.registry.by_id.get(run.function_id)
    if function is None or function.archived:
        return RerunRefusal(GONE, "its function is not registered any more")
    ids = list_event_ids(tx.connection, run)
    events = [_without_correlation(event_id, body) for event_id, body in zip(ids, loads(run.events), strict=True)]
    started = start_run(tx, function, events, cron=run.cron, batch_id=run.batch_id)
    if started is None:
        return RerunRefusal(SKIPPED, "another run of the function is under way, and it is a singleton that skips")
    return started


def _without_correlation(event_id: str, body: dict[str, Any]) -> EngineEvent:
    """The event without the step that once waited for its run: a rerun has nobody to answer to."""
    data = body["data"]
    if isinstance(data.get("_inngest"), dict):
        origin = {key: value for key, value in data["_inngest"].items() if key != "correlation_id"}
        body = {**body, "data": {**data, "_inngest": origin}}
    return EngineEvent(event_id, body["name"], body["ts"], body)
