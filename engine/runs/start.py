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
from engine.storage.coordination import lock_name
from engine.storage.queue import CALL, START_TIMEOUT, QueueItem, put_item
from engine.storage.tables import QUEUED, run_events, runs
from engine.storage.transaction import Transaction

_ACTIVE_SINGLETONS = select(runs).where(runs.c.singleton == bindparam("shared")).with_for_update()
_INSERT = insert(runs)
_NEVER_MS = 100 * YEAR_MS

REFUSALS = UNKNOWN, GONE, SKIPPED = "not_found", "function_gone", "run_skipped"


def start_run(
    tx: Transaction,
    function: Function,
    events: Sequence[EngineEvent],
    *,
    cron: str | None = None,
    batch_id: str | None = None,
) -> str | None:
    """Queue a run of the function; returns its id, or None when it is skipped because another run is the singleton."""
    trigger = events[0]
    singleton = _singleton_key(function, trigger)
    if singleton is not None and not _claim_singleton(tx, function, singleton):
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
        "status": QUEUED,
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
    tx.run_later(_INSERT, row)
    if len(events) > 1:
        rows = [{"event_id": event.id, "run_id": run_id, "position": at} for at, event in enumerate(events)]
        tx.run_once(insert(run_events), rows)
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


def _claim_singleton(tx: Transaction, function: Function, singleton: str) -> bool:
    """Cancel the active runs with this key, or return False when the function skips new runs instead."""
    lock_name(tx, singleton)
    active = tx.run(_ACTIVE_SINGLETONS, {"shared": singleton}).all()
    if function.singleton is not None and function.singleton.mode == "skip":
        return not active
    for run in active:
        cancel_run(tx, run)
    return True


def invoke_function(tx: Transaction, function: Function, data: dict[str, Any]) -> tuple[str, str | None]:
    """Start the function with this data; returns the ids of the event and of the run (None when it is skipped)."""
    own_data = {key: value for key, value in data.items() if key != "_inngest"}
    origin = {"fn_id": function.slug, "invoke_type": "api", "name": FUNCTION_INVOKED}
    event = make_event(tx.new_id(), FUNCTION_INVOKED, {**own_data, "_inngest": origin}, tx.now)
    tx.outbox.append(event)
    return event.id, start_run(tx, function, [event])


@dataclass(frozen=True)
class RerunRefusal:
    """The reason why a run cannot be run again; `code` is one of `REFUSALS`, `reason` is text for a person."""

    code: str
    reason: str


def rerun_run(tx: Transaction, run_id: str) -> str | RerunRefusal:
    """Start a new run with the events of an earlier one, which may have any status; returns its id or a refusal.

    Debounce, batching, rate limit and idempotency do not apply, since they decide about events; concurrency, throttle,
    priority and singleton do. If the earlier run was invoked by a step, the new one does not answer that step again.
    """
    run = find_run(tx.connection, run_id)
    if run is None:
        return RerunRefusal(UNKNOWN, "there is no such run")
    function = tx.registry.by_id.get(run.function_id)
    if function is None or function.archived:
        return RerunRefusal(GONE, "its function is no longer registered")
    ids = list_event_ids(tx.connection, run)
    events = [_without_correlation(event_id, body) for event_id, body in zip(ids, loads(run.events), strict=True)]
    started = start_run(tx, function, events, cron=run.cron, batch_id=run.batch_id)
    if started is None:
        return RerunRefusal(SKIPPED, "the function is a singleton and another run of it is under way")
    return started


def _without_correlation(event_id: str, body: dict[str, Any]) -> EngineEvent:
    """Return the event without the id of the step that waited for its run, which a rerun does not answer."""
    data = body["data"]
    if isinstance(data.get("_inngest"), dict):
        origin = {key: value for key, value in data["_inngest"].items() if key != "correlation_id"}
        body = {**body, "data": {**data, "_inngest": origin}}
    return EngineEvent(event_id, body["name"], body["ts"], body)
