"""Delivery of an event: store it, end the pauses that wait for it, start the functions that it triggers."""

from sqlalchemy import insert

from engine.event import FUNCTION_INVOKED, EngineEvent
from engine.function import Function
from engine.rows import Row
from engine.runs import pauses
from engine.runs.event_buffer import batch_event, debounce_event
from engine.runs.flow_control import mark_first_time, pass_rate_limit
from engine.runs.invocation import finish_invoke
from engine.runs.lifecycle import cancel_run, lock_run
from engine.runs.start import start_run
from engine.runs.steps import complete_step, find_step
from engine.storage.queue import drop_step_items
from engine.storage.tables import events
from engine.storage.transaction import Transaction

_INSERT = insert(events)


def deliver_event(tx: Transaction, event: EngineEvent) -> None:
    """Store the event, end the pauses that wait for it, and start the functions that it triggers."""
    store_event(tx, event)
    for row in pauses.find_pauses(tx, event):
        _end_pause(tx, row, event)
    if "correlation_id" in event.data and event.name == "inngest/function.finished":
        finish_invoke(tx, event)
    started = _started_by_invoke(tx, event)
    for function, trigger in tx.registry.triggered_by(event.name):
        if function.id not in started and (
            trigger.expression is None or trigger.expression.is_true({"event": event.body})
        ):
            started.add(function.id)
            _trigger(tx, function, event)


def deliver_outbox(tx: Transaction) -> None:
    """Deliver the events of the outbox until it is empty; delivering one may add others."""
    while tx.outbox:
        deliver_event(tx, tx.outbox.pop(0))


def store_event(tx: Transaction, event: EngineEvent) -> None:
    """Store the event without delivering it."""
    row = {
        "id": event.id,
        "name": event.name,
        "internal": event.internal,
        "body": event.text,
        "ts": event.ts,
        "received_at": tx.now,
    }
    tx.run_later(_INSERT, row)


def _started_by_invoke(tx: Transaction, event: EngineEvent) -> set[str]:
    """Return the id of the function that an invocation event names; `begin_invoke` has already started it."""
    if event.name != FUNCTION_INVOKED:
        return set()
    function = tx.registry.by_slug.get(event.data["_inngest"]["fn_id"])
    return set() if function is None else {function.id}


def _trigger(tx: Transaction, function: Function, event: EngineEvent) -> None:
    if not mark_first_time(tx, function, event) or not pass_rate_limit(tx, function, event):
        return
    if function.debounce is not None:
        debounce_event(tx, function, event)
    elif function.batch is not None:
        batch_event(tx, function, event)
    else:
        start_run(tx, function, [event])


def _end_pause(tx: Transaction, pause: Row, event: EngineEvent) -> None:
    run = lock_run(tx, pause.run_id)
    if run is None or not pauses.drop_pause(tx, pause.id):
        return
    if pause.kind == pauses.CANCEL:
        cancel_run(tx, run)
        return
    drop_step_items(tx, run.id, pause.step_id)
    step = find_step(tx, run.id, pause.step_id)
    if step is not None and step.position is None:
        complete_step(tx, run, step, event.text)
