"""Schedules: a queue item for the next tick of each cron expression of a function, and records of missed ticks."""

from __future__ import annotations

from sqlalchemy import bindparam, insert, select

from engine.event import SCHEDULED_TIMER, make_event
from engine.formats.clock import rfc3339
from engine.formats.cron import Cron, jitter_of, parse_cron
from engine.function import CronTrigger, Function
from engine.rows import Row
from engine.runs.delivery import store_event
from engine.runs.flow_control import mark_tick
from engine.runs.start import start_run
from engine.storage.queue import CRON, QueueItem, drop_subject_items, put_item
from engine.storage.tables import items, missed
from engine.storage.transaction import Transaction

MAX_COUNTED_TICKS = 1000
"""Skipped ticks are counted up to this number."""
_LATE_MS = 60_000
"""A run that starts up to this much after its time does not count as late."""

_SCHEDULED = select(items.c.subject).where(items.c.subject.like(bindparam("begins")))


def reschedule_function(tx: Transaction, function: Function, *, keep: bool = True) -> None:
    """Make the queue hold exactly the function's schedules; with `keep`, those that are queued keep their next tick."""
    wanted = {} if function.archived else {_subject(function, trigger): trigger for trigger in function.cron_triggers}
    scheduled = {row.subject for row in tx.run_once(_SCHEDULED, {"begins": f"{CRON}:{function.id}:%"})}
    kept = scheduled & wanted.keys() if keep else set()
    for subject in scheduled - kept:
        drop_subject_items(tx, subject)
    for subject in wanted.keys() - kept:
        _queue_next(tx, function, wanted[subject], tx.now)


def fire_schedule(tx: Transaction, row: Row) -> None:
    """Start the run of a due tick and queue the next tick.

    Of the ticks that were missed while no engine ran, the last one runs, late, and the earlier ones are skipped. Both
    are recorded.
    """
    _, function_id, _ = row.subject.split(":", 2)
    function = tx.registry.by_id.get(function_id)
    trigger = (
        next((t for t in function.cron_triggers if _subject(function, t) == row.subject), None) if function else None
    )
    if function is None or trigger is None or function.archived:
        return
    # Two engines that started at the same time may both have queued this tick.
    drop_subject_items(tx, row.subject)
    planned = int(row.body)
    cron = parse_cron(trigger.text)
    tick = cron.latest(planned, tx.now - trigger.jitter_ms)
    _queue_next(tx, function, trigger, tick)
    if not mark_tick(tx, function, trigger.text, tick):
        return
    if tick > planned:
        _note_skipped(tx, function, cron, trigger.text, planned, tick)
    fire_at = tick + jitter_of(function.slug, tick, trigger.jitter_ms)
    data = {"cron": trigger.text, "fireAt": rfc3339(fire_at), "scheduledAt": rfc3339(tick)}
    event = make_event(tx.new_id(), SCHEDULED_TIMER, data, tx.now, dedup=rfc3339(tick))
    store_event(tx, event)
    run_id = start_run(tx, function, [event], cron=trigger.text)
    if run_id is not None and (tick > planned or tx.now - fire_at > _LATE_MS):
        _note_late(tx, function, trigger.text, tick, run_id)


def _note_late(tx: Transaction, function: Function, cron: str, tick_ms: int, run_id: str) -> None:
    """Record a tick that ran after its time."""
    _note_missed(tx, function, cron, first=tick_ms, last=tick_ms, ticks=1, run_id=run_id)


def _note_skipped(tx: Transaction, function: Function, cron: Cron, text: str, first_ms: int, before_ms: int) -> None:
    """Record that the ticks from `first_ms` until before `before_ms` are skipped."""
    last = cron.latest(first_ms, before_ms - 1)
    _note_missed(
        tx,
        function,
        text,
        first=first_ms,
        last=last,
        ticks=1 + cron.count(first_ms, last, MAX_COUNTED_TICKS - 1),
        run_id=None,
    )


def _note_missed(
    tx: Transaction, function: Function, cron: str, *, first: int, last: int, ticks: int, run_id: str | None
) -> None:
    row = {
        "function_id": function.id,
        "cron": cron,
        "first_at": first,
        "last_at": last,
        "ticks": ticks,
        "run_id": run_id,
        "noted_at": tx.now,
    }
    tx.run_once(insert(missed), row)


def _queue_next(tx: Transaction, function: Function, trigger: CronTrigger, after_ms: int) -> None:
    tick = parse_cron(trigger.text).next_after(after_ms)
    due_at = tick + jitter_of(function.slug, tick, trigger.jitter_ms)
    put_item(tx, QueueItem(CRON, due_at, subject=_subject(function, trigger), body=str(tick)))


def _subject(function: Function, trigger: CronTrigger) -> str:
    return f"{CRON}:{function.id}:{trigger.jitter_ms}:{trigger.text}"
