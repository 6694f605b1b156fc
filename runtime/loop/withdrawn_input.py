"""End a turn whose input was withdrawn before it was read: there is nothing to read and nothing to ask a model."""

from __future__ import annotations

from core.database import Scope
from runtime.cards import cards
from runtime.inbox import inbox
from runtime.statuses import CardKind, MessageState, TaskStatus, TurnStatus, WaitKind
from runtime.tables import messages
from runtime.tasks import tasks, waits
from runtime.turns.lease import TurnFence
from runtime.turns.rows import Turn

CAUSE_AFTER, CAUSE_RESUMED = "after:", "resume:"
"""How the causes begin of turns that have work to go on with, whether there is input or not."""
CAUSE_UNREAD = "heard:"
"""How the cause begins of a turn after another one, queued only for what had come meanwhile."""
_NOTHING_LEFT = "what it was made for was taken back"
_NOTHING_NEW = "what it was woken for was taken back"


def end_turn_without_input(scope: Scope, fence: TurnFence, turn: Turn, task_id: str) -> bool:
    """End a turn that has nothing to read at its first step, if words alone were its cause; the task is locked.

    A task that was given nothing but words taken back is stopped, unless others come in their place. One that has
    read before goes back to where it stood when the words woke it, or is judged at the turn's close where they came
    while it was at work.
    """
    if inbox.is_all_withdrawn(scope, task_id):
        fence.close(scope, TurnStatus.STOPPED, _NOTHING_LEFT)
        if not _replacement_comes(scope, task_id):
            tasks.set_task_fields(scope, task_id, status=TaskStatus.STOPPED, reason=_NOTHING_LEFT)
        return True
    if turn.cause.startswith((CAUSE_AFTER, CAUSE_RESUMED)):
        return False
    if turn.cause.startswith(CAUSE_UNREAD):
        fence.release(scope)
        return True
    return _restore_task(scope, fence, task_id)


def stop_emptied_task(scope: Scope, task_id: str) -> bool:
    """Stop a task at which a replacement was awaited that was taken back itself; False where it has something to do."""
    task = tasks.lock_task_with_turn(scope, task_id)
    if (
        task.status != TaskStatus.ACTIVE
        or not inbox.is_all_withdrawn(scope, task_id)
        or _replacement_comes(scope, task_id)
    ):
        return False
    tasks.set_task_fields(scope, task_id, status=TaskStatus.STOPPED, reason=_NOTHING_LEFT)
    return True


def _restore_task(scope: Scope, fence: TurnFence, task_id: str) -> bool:
    """False for a task whose card was answered meanwhile: it has that to go on from."""
    open_cards = cards.list_all_open_cards(scope, task_id)
    wait = waits.find_wait(scope, task_id)
    blocked = next((card for card in open_cards if card.kind == CardKind.BLOCKED), None)
    if wait is not None and wait.kind is WaitKind.CARD and not {card.id for card in open_cards} & set(wait.refs):
        return False
    fence.close(scope, TurnStatus.STOPPED, _NOTHING_NEW)
    if blocked is not None:
        tasks.set_task_fields(scope, task_id, status=TaskStatus.BLOCKED, reason=blocked.body)
    else:
        tasks.set_task_fields(
            scope, task_id, status=TaskStatus.WAITING if wait is not None else TaskStatus.DONE, reason=""
        )
    return True


def _replacement_comes(scope: Scope, task_id: str) -> bool:
    query = scope.select(messages.c.id).where(
        messages.c.to_task_id == task_id, messages.c.state.in_((MessageState.RECEIVED, MessageState.ROUTED))
    )
    return scope.first(query.limit(1)) is not None
