"""Buffer of events that do not start a run immediately: debounced and batched ones."""

import json
from dataclasses import asdict

from sqlalchemy import bindparam, delete, func, insert, select

from engine.event import EngineEvent
from engine.formats.json_text import dumps
from engine.function import Function
from engine.rows import Row
from engine.runs.flow_control import key_value
from engine.runs.start import start_run
from engine.storage.coordination import lock_name
from engine.storage.queue import BATCH, DEBOUNCE, QueueItem, drop_subject_items, put_item
from engine.storage.tables import held, items
from engine.storage.transaction import Transaction

_ITEM = select(items).where(items.c.subject == bindparam("subject_key")).with_for_update()
_BODIES = select(held.c.body).where(held.c.key == bindparam("subject_key")).order_by(held.c.position)
_COUNT = select(func.count()).where(held.c.key == bindparam("subject_key"))
_DROP = delete(held).where(held.c.key == bindparam("subject_key"))


def debounce_event(tx: Transaction, function: Function, event: EngineEvent) -> None:
    """Replace the buffered event by this one and start the period again, but not beyond the debounce's timeout."""
    option = function.debounce
    assert option is not None
    subject = f"{DEBOUNCE}:{function.id}:{key_value(option.key, event)}"
    lock_name(tx, subject)
    waiting = tx.run(_ITEM, {"subject_key": subject}).first()
    began = tx.now if waiting is None else int(waiting.body.partition(":")[0])
    due_at = tx.now + option.period_ms
    if option.timeout_ms is not None:
        due_at = min(due_at, began + option.timeout_ms)
    _drop_buffer(tx, subject)
    _add_to_buffer(tx, subject, event)
    put_item(tx, QueueItem(DEBOUNCE, max(due_at, tx.now), subject=subject, body=f"{began}:{function.id}"))


def batch_event(tx: Transaction, function: Function, event: EngineEvent) -> None:
    """Add the event to its batch and start a run when the batch is full."""
    option = function.batch
    assert option is not None
    if option.condition is not None and not option.condition.is_true({"event": event.body}):
        start_run(tx, function, [event])
        return
    subject = f"{BATCH}:{function.id}:{key_value(option.key, event)}"
    lock_name(tx, subject)
    if tx.run(_ITEM, {"subject_key": subject}).first() is None:
        put_item(tx, QueueItem(BATCH, tx.now + option.timeout_ms, subject=subject, body=f"{tx.now}:{function.id}"))
    _add_to_buffer(tx, subject, event)
    if (tx.run(_COUNT, {"subject_key": subject}).scalar() or 0) >= option.max_size:
        _start_with_buffer(tx, function, subject)


def release_buffer(tx: Transaction, row: Row) -> None:
    """Start the run of a debounce or a batch whose item `row` is due."""
    function = tx.registry.by_id.get(row.body.partition(":")[2])
    if function is None or function.archived:
        _drop_buffer(tx, row.subject)
        return
    _start_with_buffer(tx, function, row.subject)


def _start_with_buffer(tx: Transaction, function: Function, subject: str) -> None:
    events = [EngineEvent(**json.loads(row.body)) for row in tx.run(_BODIES, {"subject_key": subject})]
    _drop_buffer(tx, subject)
    if events:
        start_run(tx, function, events, batch_id=tx.new_id() if subject.startswith(BATCH) else None)


def _add_to_buffer(tx: Transaction, subject: str, event: EngineEvent) -> None:
    position = (tx.run(_COUNT, {"subject_key": subject}).scalar() or 0) + 1
    row = {"key": subject, "event_id": event.id, "position": position, "body": dumps(asdict(event))}
    tx.run_once(insert(held), row)


def _drop_buffer(tx: Transaction, subject: str) -> None:
    drop_subject_items(tx, subject)
    tx.run_later(_DROP, {"subject_key": subject})
