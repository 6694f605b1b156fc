"""Commands of a person that control a task: stop, pause, resume, archive, promote, and set its limits."""

from __future__ import annotations

from core.database import Scope
from core.errors import ConflictError, InvalidError, NotFoundError
from runtime.cards import cards
from runtime.inbox import inbox
from runtime.inbox.turn_queue import wake_task
from runtime.limits import autonomy
from runtime.loop.entry import ring_turn_again
from runtime.statuses import ENDED_TASK_STATUSES, OPEN_TURN_STATUSES, CardKind, CardState, TaskStatus, TurnStatus
from runtime.tables import turns
from runtime.tasks import checklist, tasks, waits
from runtime.tasks.tasks import Plan, Task
from runtime.turns import ledger, rows
from runtime.turns.rows import find_open_turn


def stop_task(scope: Scope, task_id: str, turn_id: str | None = None) -> Task:
    """Stop a task for good: its open turn ends and loses its lease, its open cards become void, nothing wakes it again.

    Orders at providers go on; their results are stored and settled. Stopping twice changes nothing. With `turn_id`,
    only the work of that turn is meant: if that is over, ConflictError is raised and nothing is stopped.
    """
    task = tasks.lock_task_with_turn(scope, task_id)
    if turn_id is not None and task.status not in ENDED_TASK_STATUSES:
        _check_not_late(scope, task, turn_id)
    _end_work(scope, task_id, "stopped by a person")
    if task.status in ENDED_TASK_STATUSES:
        return task
    return tasks.set_task_fields(scope, task_id, status=TaskStatus.STOPPED, reason="stopped by a person")


def _check_not_late(scope: Scope, task: Task, turn_id: str) -> None:
    """Raise ConflictError if the turn's work is over: a later turn has come, or the task is done."""
    turn = rows.get_turn(scope, turn_id)
    if turn.task_id != task.id:
        raise NotFoundError(f"task {task.id} has no turn {turn_id}")
    newest = rows.list_turns_of_task(scope, task.id, limit=1)[-1]
    if turn.id != newest.id or task.status == TaskStatus.DONE:
        raise ConflictError(
            f"this stop comes too late: turn {turn_id} has ended ({turn.status}), and nothing was stopped; "
            "look at the task, and stop it again if you still want to",
            state=task.status,
            turn_id=turn_id,
            newest_turn_id=newest.id,
        )


def pause_task(scope: Scope, task_id: str) -> Task:
    """Pause a task: no further turn until it is resumed. A step that is running may end; then its turn closes."""
    task = tasks.lock_task(scope, task_id)
    if task.status in (TaskStatus.STOPPED, TaskStatus.ARCHIVED, TaskStatus.DONE):
        raise ConflictError(f"a task that is {task.status} cannot be paused", state=task.status)
    return tasks.set_task_fields(scope, task_id, status=TaskStatus.PAUSED, reason="paused by a person")


def resume_task(scope: Scope, task_id: str) -> Task:
    """Resume a paused or blocked task: queue a turn, or ring again for the one that waits."""
    task = tasks.lock_task_with_turn(scope, task_id)
    if task.status not in (TaskStatus.PAUSED, TaskStatus.BLOCKED):
        raise ConflictError(
            f"only a paused or blocked task can be resumed; this one is {task.status}", state=task.status
        )
    cards.close_open_cards(scope, task_id, CardState.SUPERSEDED, kinds=(CardKind.BLOCKED,))
    tasks.set_task_fields(scope, task_id, status=TaskStatus.ACTIVE, reason="", idle_rounds=0)
    if wake_task(scope, task_id, f"resume:{scope.ids.new('cause')}") is None:
        waiting = find_open_turn(scope, task_id)
        if waiting is not None and waiting.status == TurnStatus.QUEUED:
            ring_turn_again(scope, waiting)
    return tasks.get_task(scope, task_id)


def archive_task(scope: Scope, task_id: str) -> Task:
    """Archive a task; what it has made stays."""
    _end_work(scope, task_id, "archived by a person")
    return tasks.set_task_fields(scope, task_id, status=TaskStatus.ARCHIVED, reason="archived by a person")


def promote_task(scope: Scope, task_id: str) -> Task:
    """Make a light task persistent; its works and messages stay."""
    task = tasks.lock_task(scope, task_id)
    if task.kind == "persistent":
        return task
    if task.status in ENDED_TASK_STATUSES:
        raise ConflictError(f"a task that is {task.status} is not gone on with: begin a new one", state=task.status)
    return tasks.set_task_fields(scope, task_id, kind="persistent")


def set_task_autonomy(scope: Scope, task_id: str, level: str) -> Task:
    """Set how far the task may go before a person has to look; it applies when its next turn ends."""
    tasks.lock_task(scope, task_id)
    return autonomy.set_autonomy_level(scope, task_id, level, checklist.read_plan_number(scope, task_id))


def set_task_plan(scope: Scope, task_id: str, plan: Plan | None) -> Task:
    """Approve spending for a task, in place of what was approved before; None withdraws the approval."""
    if plan is None:
        return tasks.set_task_fields(
            scope, task_id, plan_budget=None, plan_kinds=[], plan_count=None, plan_expires_at=None
        )
    if plan.amount < 0 or (plan.count is not None and plan.count < 0):
        raise InvalidError("a budget and a count are zero or more")
    if plan.expires_at is not None and plan.expires_at <= scope.now:
        raise InvalidError("the plan would have ended already: name a time to come, or none")
    return tasks.set_task_fields(
        scope,
        task_id,
        plan_budget=plan.amount,
        plan_kinds=sorted(set(plan.kinds)),
        plan_count=plan.count,
        plan_expires_at=plan.expires_at,
    )


def _end_work(scope: Scope, task_id: str, reason: str) -> Task:
    """End whatever is open in a task: its turn, cards, unread input and wait."""
    task = tasks.lock_task_with_turn(scope, task_id)
    _end_turn(scope, task_id, reason)
    cards.close_open_cards(scope, task_id, CardState.VOID)
    inbox.supersede_inbox(scope, task_id)
    waits.end_wait(scope, task_id)
    return task


def _end_turn(scope: Scope, task_id: str, reason: str) -> None:
    turn = find_open_turn(scope, task_id)
    if turn is None:
        return
    ended = scope.change(
        scope.update(turns)
        .where(turns.c.id == turn.id, turns.c.status.in_(OPEN_TURN_STATUSES))
        .values(status=TurnStatus.STOPPED, reason=reason, lease_token=None, lease_until=None, ended_at=scope.now)
    )
    if ended:
        ledger.end_open_calls(scope, turn.id)
        scope.changed("turn", turn.id)
