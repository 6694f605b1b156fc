"""What a turn finds when the words it was queued for no longer stand: nothing to read, and nothing to ask a model."""

from __future__ import annotations

from core.database import Scope
from runtime import cards, inbox, tasks, waits
from runtime.tables import messages
from runtime.turns.lease import TurnFence
from runtime.turns.rows import Turn

AFTER, RESUMED = "after:", "resume:"
"""How the causes begin of turns that have work to go on with, whether there is input or not."""
HEARD = "heard:"
"""How the cause begins of a turn after another one, queued only for what had come meanwhile."""
_MADE_FOR = "what it was made for was taken back"
_WOKEN_FOR = "what it was woken for was taken back"


def ends_turn(scope: Scope, fence: TurnFence, turn: Turn, task_id: str) -> bool:
    """End a turn that has nothing to read at its first step, if words alone were its cause; the task is locked.

    A task that was given nothing but words taken back is stopped, unless others come in their place. One that has
    read before goes back to where it stood when the words woke it, or is judged at the turn's close where they came
    while it was at work.
    """
    if inbox.all_taken_back(scope, task_id):
        fence.close(scope, "stopped", _MADE_FOR)
        if not _replacement_comes(scope, task_id):
            tasks.set_fields(scope, task_id, status="stopped", reason=_MADE_FOR)
        return True
    if turn.cause.startswith((AFTER, RESUMED)):
        return False
    if turn.cause.startswith(HEARD):
        fence.release(scope)
        return True
    return _goes_back(scope, fence, task_id)


def stop_if_emptied(scope: Scope, task_id: str) -> bool:
    """Stop a task at which a replacement was awaited that was taken back itself; False where it has something to do."""
    task = tasks.lock_with_turn(scope, task_id)
    if task.status != "active" or not inbox.all_taken_back(scope, task_id) or _replacement_comes(scope, task_id):
        return False
    tasks.set_fields(scope, task_id, status="stopped", reason=_MADE_FOR)
    return True


def _goes_back(scope: Scope, fence: TurnFence, task_id: str) -> bool:
    """False for a task whose card was answered meanwhile: it has that to go on from."""
    open_cards = cards.every_open(scope, task_id)
    wait = waits.current(scope, task_id)
    blocked = next((card for card in open_cards if card.kind == "blocked"), None)
    if wait is not None and wait.kind == "card" and not {card.id for card in open_cards} & set(wait.refs):
        return False
    fence.close(scope, "stopped", _WOKEN_FOR)
    if blocked is not None:
        tasks.set_fields(scope, task_id, status="blocked", reason=blocked.body)
    else:
        tasks.set_fields(scope, task_id, status="waiting" if wait is not None else "done", reason="")
    return True


def _replacement_comes(scope: Scope, task_id: str) -> bool:
    query = scope.select(messages.c.id).where(
        messages.c.to_task_id == task_id, messages.c.state.in_(("received", "routed"))
    )
    return scope.first(query.limit(1)) is not None
