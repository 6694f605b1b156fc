"""Schedules: one queue item per function and cron expression, always the next tick; notes of missed ticks."""

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

MOST_TICKS_COUNTED = 1000
"""More skipped ticks than this are not counted one by one."""


def note_late(tx: Transaction, function: Function, cron: str, tick_ms: int, run_id: str) -> None:
    """This tick ran after its time."""
    _note_missed(tx, function, cron, first=tick_ms, last=tick_ms, ticks=1, run_id=run_id)


def note_skipped(tx: Transaction, function: Function, cron: Cron, text: str, first_ms: int, before_ms: int) -> None:
    """The ticks from `first_ms` up to, and without, `before_ms` do not run: each is older than its period."""
    last = cron.latest(first_ms, before_ms - 1)
    _note_missed(
        tx,
        function,
        text,
        first=first_ms,
        last=last,
        ticks=1 + cron.count(first_ms, last, MOST_TICKS_COUNTED - 1),
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
    tx.run(insert(missed), row)


_LATE_MS = 60_000
"""So much later than its time a run may start without being called late."""

_SCHEDULED = select(items.c.subject).where(items.c.subject.like(bindparam("begins")))


def reschedule_function(tx: Transaction, function: Function, *, anew: bool = False) -> None:
    """Make the queue hold exactly the schedules the function has; one that stays keeps its next tick, unless `anew`."""
    wanted = {} if function.archived else {_subject(function, trigger): trigger for trigger in function.cron_triggers}
    scheduled = {row.subject for row in tx.run(_SCHEDULED, {"begins": f"{CRON}:{function.id}:%"})}
    kept = set() if anew else scheduled & wanted.keys()
    for subject in scheduled - kept:
        drop_subject_items(tx, subject)
    for subject in wanted.keys() - kept:
        _queue_next(tx, function, wanted[subject], tx.now)


def fire_schedule(tx: Transaction, row: Row) -> None:
    """Start the run of a tick and queue the next.

    A tick that was missed (no engine ran) runs once, late, if it is younger than its period, which is the time to the
    schedule's next tick; an older one is skipped. So of all that were missed the last runs. Both are written down.
    """
    _, function_id, _ = row.subject.split(":", 2)
    function = tx.registry.by_id.get(function_id)
    trigger = (
        next((t for t in function.cron_triggers if _subject(function, t) == row.subject), None) if function else None
    )
    if function is None or trigger is None or function.archived:
        return
    # Two engines that started together may both have queued it.
    drop_subject_items(tx, row.subject)
    planned = int(row.body)
    cron = parse_cron(trigger.text)
    tick = cron.latest(planned, tx.now - trigger.jitter_ms)
    _queue_next(tx, function, trigger, tick)
    if not mark_tick(tx, function, trigger.text, tick):
        return
    if tick > planned:
        note_skipped(tx, function, cron, trigger.text, planned, tick)
    fire_at = tick + jitter_of(function.slug, tick, trigger.jitter_ms)
    data = {"cron": trigger.text, "fireAt": rfc3339(fire_at), "scheduledAt": rfc3339(tick)}
    event = make_event(tx.new_id(), SCHEDULED_TIMER, data, tx.now, dedup=rfc3339(tick))
    store_event(tx, event)
    run_id = start_run(tx, function, [event], cron=trigger.text)
    if run_id is not None and (tick > planned or tx.now - fire_at > _LATE_MS):
        note_late(tx, function, trigger.text, tick, run_id)


def _queue_next(tx: Transaction, function: Function, trigger: CronTrigger, after_ms: int) -> None:
    tick = parse_cron(trigger.text).next_after(after_ms)
    due_at = tick + jitter_of(function.slug, tick, trigger.jitter_ms)
    put_item(tx, QueueItem(CRON, due_at, subject=_subject(function, trigger), body=str(tick)))


def _subject(function: Function, trigger: CronTrigger) -> str:
    return f"{CRON}:{function.id}:{trigger.jitter_ms}:{trigger.text}"
