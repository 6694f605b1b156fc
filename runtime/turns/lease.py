"""The lease on a turn: the right to work on it and to write its records.

A run enters a queued turn once (`enter_turn`). Each execution of a step then acquires the lease under its own token
(`acquire_turn_lease`), renews it while it works (`renew_while`), and releases it in the transaction that stores its
result. An execution that finds an expired lease takes it over with the next epoch; of several that try, one succeeds.
A writer whose epoch or token is no longer the stored one changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

import sqlalchemy as sa
from sqlalchemy.sql.dml import Update

from core.database import Database, Scope
from core.errors import BusyError, LostError
from core.process.heartbeat import keep_beating
from core.sql import statements
from runtime.statuses import ENDED_TASK_STATUSES, TaskStatus, TurnStatus
from runtime.tables import turns
from runtime.tasks import tasks
from runtime.turns.rows import Turn, get_turn, turn_from_row

_HELD = (
    statements.update(turns)
    .where(
        turns.c.id == sa.bindparam("turn"),
        turns.c.status == TurnStatus.RUNNING,
        turns.c.epoch == sa.bindparam("held_epoch"),
        turns.c.lease_token == sa.bindparam("held_token"),
    )
    .values(touched_at=sa.bindparam("now"))
)
_RENEWED = _HELD.values(lease_until=sa.bindparam("until"))
_RELEASED = _HELD.values(lease_token=sa.null(), lease_until=sa.null())
_CLOSED = _RELEASED.values(status=sa.bindparam("ends"), reason=sa.bindparam("why"), ended_at=sa.bindparam("now"))
_CLAIM_FREE = (
    statements.update(turns)
    .where(
        turns.c.id == sa.bindparam("turn"),
        turns.c.status == TurnStatus.RUNNING,
        turns.c.run_id == sa.bindparam("run"),
        turns.c.lease_token.is_(None),
    )
    .values(lease_token=sa.bindparam("token"), lease_until=sa.bindparam("until"), touched_at=sa.bindparam("now"))
    .returning(*turns.c)
)


@dataclass(frozen=True)
class TurnFence:
    """Proof that one execution holds the lease of a turn; implements `core.tools.Fence`."""

    turn_id: str
    epoch: int
    token: str

    def check(self, scope: Scope) -> None:
        """Raise LostError unless this execution still holds the lease; part of the caller's transaction."""
        self._write(scope, _HELD)

    def renew(self, scope: Scope, lease: timedelta) -> None:
        self._write(scope, _RENEWED, until=scope.now + lease)

    def release(self, scope: Scope) -> None:
        """Release the lease in the transaction that stores the step's result. Raises LostError as `check` does."""
        self._write(scope, _RELEASED)

    def close(self, scope: Scope, status: TurnStatus, reason: str) -> None:
        """End the turn and release its lease. Raises LostError as `check` does."""
        self._write(scope, _CLOSED, ends=status, why=reason)
        scope.changed("turn", self.turn_id)

    def _write(self, scope: Scope, statement: Update, **values: object) -> None:
        held = {"turn": self.turn_id, "held_epoch": self.epoch, "held_token": self.token}
        if scope.change(statement, now=scope.now, **held, **values) != 1:
            raise LostError(f"turn {self.turn_id} is no longer held at epoch {self.epoch}")


def enter_turn(scope: Scope, turn_id: str, run_id: str, patience: timedelta) -> bool:
    """Let one run into a turn; return False for the run of a bell that came twice, late or forged.

    A later bell's run may replace one that was lost, but only when no lease is alive and the turn has not been touched
    for `patience`. This raises the epoch, so that the steps of the replaced run stop.
    """
    turn = get_turn(scope, turn_id)
    if turn.status == TurnStatus.QUEUED:
        return _enter_queued(scope, turn, run_id)
    if turn.status != TurnStatus.RUNNING:
        return False
    if turn.run_id == run_id:
        return True
    if turn.run_id is None:
        return _enter_handed_over(scope, turn, run_id)
    held = turn.lease_until is not None and turn.lease_until > scope.now
    if held or turn.touched_at > scope.now - patience:
        return False
    replaced = scope.change(
        scope.update(turns)
        .where(
            turns.c.id == turn_id,
            turns.c.status == TurnStatus.RUNNING,
            turns.c.epoch == turn.epoch,
            turns.c.touched_at == turn.touched_at,
        )
        .values(run_id=run_id, epoch=turn.epoch + 1, lease_token=None, lease_until=None, touched_at=scope.now)
    )
    if replaced:
        scope.changed("turn", turn_id)
    return replaced == 1


def _enter_queued(scope: Scope, turn: Turn, run_id: str) -> bool:
    # Every transaction locks the turn's row before the task's, so that no two wait for each other.
    entered = scope.change(
        scope.update(turns)
        .where(turns.c.id == turn.id, turns.c.status == TurnStatus.QUEUED)
        .values(status=TurnStatus.RUNNING, run_id=run_id, started_at=scope.now, touched_at=scope.now)
    )
    if not entered:
        return False
    status = TaskStatus.ACTIVE if turn.task_id is None else tasks.lock_task(scope, turn.task_id).status
    scope.changed("turn", turn.id)
    mine = scope.update(turns).where(turns.c.id == turn.id)
    if status in ENDED_TASK_STATUSES:
        scope.change(mine.values(status=TurnStatus.STOPPED, reason=f"the task is {status}", ended_at=scope.now))
        return False
    if status == TaskStatus.PAUSED:
        scope.change(mine.values(status=TurnStatus.QUEUED, run_id=None, started_at=None))
        return False
    return True


def _enter_handed_over(scope: Scope, turn: Turn, run_id: str) -> bool:
    return bool(
        scope.change(
            scope.update(turns)
            .where(turns.c.id == turn.id, turns.c.status == TurnStatus.RUNNING, turns.c.run_id.is_(None))
            .values(run_id=run_id, touched_at=scope.now)
        )
    )


def take_lease(scope: Scope, turn_id: str, run_id: str, lease: timedelta) -> tuple[TurnFence, Turn]:
    """Claim the lease for one execution of a step of `run_id`; return its fence and the turn as it is then.

    Raises LostError when the turn has ended or another run has replaced this one, and BusyError while another
    execution holds a lease that has not expired.
    """
    token = scope.ids.new("lease")
    row = scope.first(_CLAIM_FREE, turn=turn_id, run=run_id, token=token, until=scope.now + lease, now=scope.now)
    if row is not None:
        turn = turn_from_row(row)
        return TurnFence(turn_id, turn.epoch, token), turn
    return _take_over(scope, turn_id, run_id, token, lease)


def _take_over(scope: Scope, turn_id: str, run_id: str, token: str, lease: timedelta) -> tuple[TurnFence, Turn]:
    """Claim a lease that another execution has left behind, once it has expired, under the next epoch."""
    turn = get_turn(scope, turn_id)
    if turn.status != TurnStatus.RUNNING or turn.run_id != run_id:
        raise LostError(f"turn {turn_id} is {turn.status} and held by run {turn.run_id or 'none'}, not by {run_id}")
    if turn.lease_until is not None and turn.lease_until > scope.now:
        raise _busy(turn, turn.lease_until - scope.now)
    epoch = turn.epoch if turn.lease_token is None else turn.epoch + 1
    same_token = turns.c.lease_token.is_(None) if turn.lease_token is None else turns.c.lease_token == turn.lease_token
    won = scope.change(
        scope.update(turns)
        .where(
            turns.c.id == turn_id,
            turns.c.status == TurnStatus.RUNNING,
            turns.c.run_id == run_id,
            turns.c.epoch == turn.epoch,
            same_token,
            sa.or_(turns.c.lease_until.is_(None), turns.c.lease_until <= scope.now),
        )
        .values(epoch=epoch, lease_token=token, lease_until=scope.now + lease, touched_at=scope.now)
    )
    if won != 1:
        raise _busy(turn, lease)
    if epoch != turn.epoch:
        scope.changed("turn", turn_id)
    return TurnFence(turn_id, epoch, token), get_turn(scope, turn_id)


def _busy(turn: Turn, wait: timedelta) -> BusyError:
    return BusyError(f"turn {turn.id} is being worked on at epoch {turn.epoch}", max(wait, timedelta(seconds=1)))


@contextmanager
def acquire_turn_lease(
    database: Database, workspace_id: str, turn_id: str, run_id: str, lease: timedelta, name: str
) -> Iterator[tuple[Scope, TurnFence, Turn]]:
    """Run the first transaction of a step: claim the lease before any other row is locked.

    Raises as `take_lease` does. A caller that leaves the block without releasing the fence goes on inside
    `renew_while`.
    """
    with database.transaction(workspace_id, name) as scope:
        yield scope, *take_lease(scope, turn_id, run_id, lease)


@contextmanager
def renew_while(database: Database, workspace_id: str, fence: TurnFence, lease: timedelta) -> Iterator[None]:
    """Keep an acquired lease alive during a block, whose last transaction releases it; an error releases it too."""
    try:
        with keep_beating(
            f"lease-{fence.turn_id}", lease.total_seconds() / 3, lambda: _renew(database, workspace_id, fence, lease)
        ):
            yield
    except BaseException:
        _free_lease(database, workspace_id, fence)
        raise


@contextmanager
def hold_turn_lease(
    database: Database, workspace_id: str, turn_id: str, run_id: str, lease: timedelta
) -> Iterator[TurnFence]:
    """Acquire the lease in a separate transaction and keep it alive during a block."""
    with acquire_turn_lease(database, workspace_id, turn_id, run_id, lease, "turn.claimed") as (_, fence, _turn):
        pass
    with renew_while(database, workspace_id, fence, lease):
        yield fence


def _free_lease(database: Database, workspace_id: str, fence: TurnFence) -> None:
    """Release the lease of a step that failed, so that its retry need not wait for it to expire."""
    try:
        with database.transaction(workspace_id, "turn.let_go") as scope:
            fence.release(scope)
    except (LostError, sa.exc.SQLAlchemyError):
        return


def _renew(database: Database, workspace_id: str, fence: TurnFence, lease: timedelta) -> bool:
    try:
        with database.transaction(workspace_id, "turn.renewed") as scope:
            fence.renew(scope, lease)
    except LostError:
        return False
    except sa.exc.SQLAlchemyError:
        # The database is away for a moment: the next beat tries again, and the stored lease decides who holds the turn.
        return True
    return True
