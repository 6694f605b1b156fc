"""Recovery: find rows whose bell was lost and ring again, each in its own transaction.

This is also where overdue cards expire and tasks are stopped whose only words were withdrawn.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from functools import partial

import sqlalchemy as sa

from core.database import Database, Scope
from core.errors import LoopwrightError
from core.events import Bell, MessageReceived, NoticeRequested
from runtime import notices
from runtime.cards import answers, cards
from runtime.cards.cards import Card
from runtime.inbox import messages
from runtime.inbox.turn_queue import wake_task
from runtime.loop import entry
from runtime.loop.entry import ring_turn_again
from runtime.loop.turn_end import give_up_turn
from runtime.statuses import OPEN_TURN_STATUSES, InputKind, InputState, TaskStatus, TurnStatus
from runtime.tables import inbox, tasks, turns
from runtime.turns import rows
from runtime.turns.rows import Turn, turn_from_row

log = logging.getLogger(__name__)
_MOST_ROWS = 100
"""Rows of each kind that one pass reads."""
_SELDOM_FROM = 64
"""Age in pauses from which a bell is rung only once in so many pauses."""
MOST_RINGS = 12
"""How often the watch rings for a running turn before it gives up; with the growing waits that takes some hours."""
_DOUBLINGS_QUEUED, _DOUBLINGS_RUNNING = 3, 5
"""How often the wait before the next ring doubles at most, for a queued and for a running turn."""


def recover_workspace(database: Database, workspace_id: str, pause: timedelta, patience: timedelta) -> int:
    """Make one pass over a workspace; return how many repairs were made. A failed repair does not raise.

    `pause` is how old a row must be before its first bell counts as lost, `patience` how long a running turn may stay
    untouched while its lease is free or expired.
    """
    with database.reading(workspace_id) as scope:
        found: list[Callable[[Scope], object]] = [
            *_unrouted(scope, pause),
            *_queued_long(scope, pause),
            *_lost_runs(scope, patience),
            *_unread(scope),
            *_emptied(scope, pause),
            *_unsent(scope, pause),
            *_overdue_cards(scope),
        ]
    return sum(run_repair(database, workspace_id, act) for act in found)


def run_repair(database: Database, workspace_id: str, act: Callable[[Scope], object]) -> int:
    """Make one repair in its own transaction; return 1 when it was made, 0 when it was not needed or failed."""
    try:
        with database.transaction(workspace_id, "watch.repaired") as scope:
            return int(act(scope) is not False)
    except (LoopwrightError, sa.exc.SQLAlchemyError) as error:
        # A failed repair must not hold up the others; the next pass finds it again.
        log.warning("watch: a repair in workspace %s failed: %s: %s", workspace_id, type(error).__name__, error)
        return 0


def _number_ring(scope: Scope, since: datetime, pause: timedelta) -> int:
    """Return the number in the id of a bell, by the age of its row: new at each doubling, later every 64 pauses.

    Each pass rings, but the engine drops a bell whose id it has seen. So the bell gets through ever more rarely.
    """
    age = int((scope.now - since) / pause)
    return age.bit_length() if age < _SELDOM_FROM else _SELDOM_FROM + age // _SELDOM_FROM


def _unrouted(scope: Scope, pause: timedelta) -> Iterable[Callable[[Scope], None]]:
    """Messages that wait for routing; the bell of each is rung again."""
    for message in messages.list_unrouted(scope, scope.now - pause):

        def ring(inner: Scope, message_id: str = message.id, since: datetime = message.created_at) -> None:
            event = MessageReceived(workspace_id=inner.workspace_id, message_id=message_id)
            inner.ring(Bell(event, id=f"{message_id}:ring-{_number_ring(inner, since, pause)}"))

        yield ring


def _queued_long(scope: Scope, pause: timedelta) -> Iterable[Callable[[Scope], None]]:
    """Queued turns that no run has entered, but not those of paused tasks: a person's `resume` rings for them."""
    paused = sa.exists().where(tasks.c.id == turns.c.task_id, tasks.c.status == TaskStatus.PAUSED)
    query = scope.select(turns).where(turns.c.status == TurnStatus.QUEUED, turns.c.rung_at < scope.now - pause, ~paused)
    for row in scope.rows(query.order_by(turns.c.rung_at).limit(_MOST_ROWS)):
        turn = turn_from_row(row)
        if turn.rung_at < scope.now - pause * 2 ** min(turn.ring, _DOUBLINGS_QUEUED):
            yield _ring_again(turn)


def _lost_runs(scope: Scope, patience: timedelta) -> Iterable[Callable[[Scope], object]]:
    """Running turns without a living lease that have not been touched: their run is lost, or waits for a retry.

    The wait grows with every ring, so that new runs do not forever overtake the engine's own retries. A turn that has
    stopped again after `MOST_RINGS` rings is given up, and a card of its task says so.
    """
    query = scope.select(turns).where(
        turns.c.status == TurnStatus.RUNNING,
        turns.c.touched_at < scope.now - patience,
        turns.c.rung_at < scope.now - patience,
        sa.or_(turns.c.lease_until.is_(None), turns.c.lease_until < scope.now),
    )
    for row in scope.rows(query.order_by(turns.c.touched_at).limit(_MOST_ROWS)):
        turn = turn_from_row(row)
        if turn.ring >= MOST_RINGS:
            yield _give_up_on(turn)
        elif turn.rung_at < scope.now - patience * 2 ** min(turn.ring, _DOUBLINGS_RUNNING):
            yield _ring_again(turn)


def _ring_again(turn: Turn) -> Callable[[Scope], None]:
    def ring(inner: Scope) -> None:
        ring_turn_again(inner, rows.get_turn(inner, turn.id))

    return ring


def _give_up_on(turn: Turn) -> Callable[[Scope], bool]:
    def end(inner: Scope) -> bool:
        reason = f"the work was taken up again {turn.ring} times and did not come further"
        return give_up_turn(inner, rows.get_turn(inner, turn.id), reason)

    return end


def _unread(scope: Scope) -> Iterable[Callable[[Scope], None]]:
    """Unread input of tasks without an open turn: it arrived while a turn was just closing."""
    open_turn = sa.exists().where(turns.c.task_id == inbox.c.task_id, turns.c.status.in_(OPEN_TURN_STATUSES))
    query = (
        scope.select(inbox, tasks.c.status.label("task_status"))
        .where(
            inbox.c.state == InputState.DELIVERED,
            inbox.c.created_at < scope.now - timedelta(seconds=1),
            tasks.c.id == inbox.c.task_id,
            sa.or_(
                sa.and_(
                    inbox.c.kind.in_((InputKind.MESSAGE, InputKind.ANSWER)),
                    tasks.c.status.in_((TaskStatus.ACTIVE, TaskStatus.WAITING, TaskStatus.DONE)),
                ),
                # A waiting task reads its outcomes once the last one that it waits for has come.
                sa.and_(inbox.c.kind == InputKind.OUTCOME, tasks.c.status.in_((TaskStatus.ACTIVE, TaskStatus.DONE))),
            ),
            ~open_turn,
        )
        .limit(_MOST_ROWS)
    )
    for row in scope.rows(query):

        def start(inner: Scope, task_id: str = row.task_id, item_id: str = row.id) -> None:
            last = rows.list_turns_of_task(inner, task_id, limit=1)
            wake_task(inner, task_id, f"unread:{item_id}:{last[0].id if last else 'first'}")

        yield start


def _emptied(scope: Scope, pause: timedelta) -> Iterable[Callable[[Scope], bool]]:
    """Tasks without work, whose message was replaced and the replacement withdrawn; each is stopped."""
    item = sa.and_(inbox.c.workspace_id == scope.workspace_id, inbox.c.task_id == tasks.c.id)
    turn = sa.and_(turns.c.workspace_id == scope.workspace_id, turns.c.task_id == tasks.c.id)
    emptied = sa.and_(
        sa.exists().where(item, inbox.c.state == InputState.REPLACED),
        ~sa.exists().where(item, inbox.c.state.in_((InputState.DELIVERED, InputState.CLAIMED, InputState.CONSUMED))),
        ~sa.exists().where(turn, turns.c.status.in_(OPEN_TURN_STATUSES)),
    )
    query = scope.select(tasks.c.id).where(
        tasks.c.status == TaskStatus.ACTIVE, tasks.c.updated_at < scope.now - pause, emptied
    )
    for row in scope.rows(query.limit(_MOST_ROWS)):
        yield partial(_stop_emptied, row.id)


def _stop_emptied(task_id: str, scope: Scope) -> bool:
    return entry.stop_emptied_task(scope, task_id)


def _overdue_cards(scope: Scope) -> Iterable[Callable[[Scope], bool]]:
    """Open cards whose deadline has passed; each expires."""
    for card in cards.list_overdue_cards(scope):
        yield partial(_expire, card)


def _expire(card: Card, scope: Scope) -> bool:
    return answers.expire_card(scope, card)


def _unsent(scope: Scope, pause: timedelta) -> Iterable[Callable[[Scope], None]]:
    """Notices that were not sent; the bell of each is rung again."""
    for notice in notices.list_unsent_notices(scope, scope.now - pause):

        def ring(inner: Scope, notice_id: str = notice.id, since: datetime = notice.created_at) -> None:
            event = NoticeRequested(workspace_id=inner.workspace_id, notice_id=notice_id)
            inner.ring(Bell(event, id=f"{notice_id}:ring-{_number_ring(inner, since, pause)}"))

        yield ring
