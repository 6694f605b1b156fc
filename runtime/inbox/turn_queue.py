"""Queue of turns: a task has at most one open turn at a time, a message in Main one turn in all."""

from __future__ import annotations

from core.database import Scope
from core.events import Bell, MainRequested, TurnRequested
from runtime.inbox.messages import Message, set_message_state
from runtime.statuses import OPEN_TURN_STATUSES, RESTING_TASK_STATUSES, MessageState, TaskStatus, TurnStatus
from runtime.tables import turns
from runtime.tasks import tasks


def wake_task(scope: Scope, task_id: str, cause: str) -> str | None:
    """Queue a turn and ring for it; return None when one is open, or the task is stopped, paused or archived.

    Nothing is lost where a turn is open: the cause is stored as input, and the open turn looks for input at its end.
    """
    task = tasks.lock_task(scope, task_id)
    if task.status in RESTING_TASK_STATUSES or _has_open_turn(scope, task_id):
        return None
    turn_id = _queue_turn(scope, task_id, None, cause)
    if turn_id is None:
        return None
    tasks.set_task_fields(scope, task_id, status=TaskStatus.ACTIVE, reason="")
    scope.ring(Bell(TurnRequested(workspace_id=scope.workspace_id, turn_id=turn_id), id=f"{turn_id}:1"))
    return turn_id


def queue_main_turn(scope: Scope, message: Message) -> str | None:
    """Queue Main's turn for one message and ring for it; return None when the message has a turn already."""
    turn_id = _queue_turn(scope, None, message.id, f"main:{message.id}")
    if turn_id is None:
        return None
    set_message_state(scope, message.id, MessageState.DELIVERED, was=(MessageState.RECEIVED, MessageState.ROUTED))
    scope.ring(Bell(MainRequested(workspace_id=scope.workspace_id, turn_id=turn_id), id=f"{turn_id}:1"))
    return turn_id


def _has_open_turn(scope: Scope, task_id: str) -> bool:
    # Looked up before the insert: an insert would wait for the holder of the turn's row, which may wait for the task's.
    # A turn that is just being closed counts as open: its closing waits for our commit and then looks for input.
    query = scope.select(turns.c.id).where(turns.c.task_id == task_id, turns.c.status.in_(OPEN_TURN_STATUSES))
    return scope.first(query) is not None


def _queue_turn(scope: Scope, task_id: str | None, message_id: str | None, cause: str) -> str | None:
    turn_id = scope.ids.new("turn")
    added = scope.insert_new(
        turns,
        id=turn_id,
        task_id=task_id,
        message_id=message_id,
        cause=cause,
        status=TurnStatus.QUEUED,
        reason="",
        epoch=1,
        ring=0,
        touched_at=scope.now,
        rung_at=scope.now,
        created_at=scope.now,
    )
    if not added:
        return None
    scope.changed("turn", turn_id)
    return turn_id
