"""What an event sets off."""

from sqlalchemy import insert

from engine.event import INVOKED, Event
from engine.function import Function
from engine.queue import drop_step
from engine.rows import Row
from engine.runs import pauses
from engine.runs.finish import cancel
from engine.runs.gates import first_time, within_rate
from engine.runs.hold import batch, debounce
from engine.runs.invoke import finish_invoke
from engine.runs.start import start_run
from engine.runs.state import lock_run
from engine.runs.steps import complete_step, find_step
from engine.statement import Statement
from engine.tables import events
from engine.transaction import Transaction

_INSERT = Statement(insert(events))


def deliver(tx: Transaction, event: Event) -> None:
    """Store the event, answer what waits for it, start the functions it triggers."""
    store_event(tx, event)
    for row in pauses.waiting_for(tx, event):
        _end_pause(tx, row, event)
    if "correlation_id" in event.data and event.name == "inngest/function.finished":
        finish_invoke(tx, event)
    started = _invoked(tx, event)
    for function, trigger in tx.registry.triggered_by(event.name):
        if function.id not in started and (
            trigger.expression is None or trigger.expression.is_true({"event": event.body})
        ):
            started.add(function.id)
            _trigger(tx, function, event)


def settle(tx: Transaction) -> None:
    """Deliver what this transaction brought about, and what that brings about."""
    while tx.outbox:
        deliver(tx, tx.outbox.pop(0))


def store_event(tx: Transaction, event: Event) -> None:
    row = {
        "id": event.id,
        "name": event.name,
        "internal": event.internal,
        "body": event.text,
        "ts": event.ts,
        "received_at": tx.now,
    }
    tx.later(_INSERT, row)


def _invoked(tx: Transaction, event: Event) -> set[str]:
    """The id of the function that this event was made for, which was started with it."""
    if event.name != INVOKED:
        return set()
    function = tx.registry.by_slug.get(event.data["_inngest"]["fn_id"])
    return set() if function is None else {function.id}


def _trigger(tx: Transaction, function: Function, event: Event) -> None:
    if not first_time(tx, function, event) or not within_rate(tx, function, event):
        return
    if function.debounce is not None:
        debounce(tx, function, event)
    elif function.batch is not None:
        batch(tx, function, event)
    else:
        start_run(tx, function, [event])


def _end_pause(tx: Transaction, pause: Row, event: Event) -> None:
    run = lock_run(tx, pause.run_id)
    if run is None or not pauses.drop_pause(tx, pause.id):
        return
    if pause.kind == pauses.CANCEL:
        cancel(tx, run)
        return
    drop_step(tx, run.id, pause.step_id)
    step = find_step(tx, run.id, pause.step_id)
    if step is not None and step.position is None:
        complete_step(tx, run, step, event.text)
