"""Starting a run."""

import json
from collections.abc import Sequence

from sqlalchemy import bindparam, insert, select

from engine.event import Event
from engine.function import Function
from engine.locks import lock_name
from engine.queue import CALL, START_TIMEOUT, Item, put
from engine.runs.finish import cancel
from engine.runs.gates import throttled_until
from engine.runs.keys import concurrency_limits, key_value, priority_ms
from engine.runs.pauses import CANCEL, add_pause
from engine.runs.steps import DISCOVER
from engine.settings import YEAR_MS
from engine.statement import Statement
from engine.tables import run_events, runs
from engine.transaction import Transaction

_SINGLETONS = Statement(select(runs).where(runs.c.singleton == bindparam("shared")).with_for_update())
_INSERT = Statement(insert(runs))
_NEVER_MS = 100 * YEAR_MS


def start_run(
    tx: Transaction,
    function: Function,
    events: Sequence[Event],
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
        put(tx, Item(START_TIMEOUT, due_at + function.start_timeout_ms, run_id=run_id))
    put(
        tx,
        Item(
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


def _singleton_key(function: Function, trigger: Event) -> str | None:
    if function.singleton is None:
        return None
    return f"{function.id}:{key_value(function.singleton.key, trigger)}"


def _make_way(tx: Transaction, function: Function, singleton: str) -> bool:
    lock_name(tx, singleton)
    active = tx.run(_SINGLETONS, {"shared": singleton}).all()
    if function.singleton is not None and function.singleton.mode == "skip":
        return not active
    for run in active:
        cancel(tx, run)
    return True
