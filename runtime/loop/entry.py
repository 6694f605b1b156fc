"""Entry of a run into its turn: where it goes on, what it does when the words it came for are withdrawn, and the
hand-over of a long turn to the next run.
"""

from __future__ import annotations

from core.database import Scope
from core.events import Bell, MainRequested, TurnRequested
from runtime.cards import cards
from runtime.dependencies import RuntimeDependencies
from runtime.inbox import inbox
from runtime.statuses import FINISHED_CALL_STATUSES, CardKind, MessageState, TaskStatus, TurnStatus, WaitKind
from runtime.tables import messages, turns
from runtime.tasks import tasks, waits
from runtime.turns import ledger_queries, rows
from runtime.turns.lease import TurnFence, enter_turn
from runtime.turns.rows import Turn


def open_turn(dependencies: RuntimeDependencies, workspace_id: str, turn_id: str, run_id: str) -> int | str:
    """The step that the run goes on from, or, where it is not let in, why.

    Raises NotFoundError for a turn that does not exist.
    """
    with dependencies.database.transaction(workspace_id, "turn.opened") as scope:
        if not enter_turn(scope, turn_id, run_id, dependencies.patience):
            turn = rows.get_turn(scope, turn_id)
            return f"not let in: the turn is {turn.status}"
        return _first_open_step(scope, turn_id)


def _first_open_step(scope: Scope, turn_id: str) -> int:
    """The step after the last one whose calls all have results; a step without calls is the one to close after."""
    taken = ledger_queries.list_steps(scope, [turn_id])
    if not taken:
        return 1
    made = ledger_queries.list_calls_of_step(scope, turn_id, taken[-1].n)
    complete = bool(made) and all(call.status in FINISHED_CALL_STATUSES for call in made)
    finished = any(call.tool == "finish" and call.ok for call in made)
    return taken[-1].n + 1 if complete and not finished else taken[-1].n


def hand_over_turn(dependencies: RuntimeDependencies, workspace_id: str, turn_id: str, run_id: str) -> str:
    """Give up the run's hold and ring for the same turn, whose next run goes on where this one ends."""
    with dependencies.database.transaction(workspace_id, "turn.handed_over") as scope:
        turn = rows.get_turn(scope, turn_id)
        given_up = scope.change(
            scope.update(turns)
            .where(turns.c.id == turn_id, turns.c.status == TurnStatus.RUNNING, turns.c.run_id == run_id)
            .values(run_id=None, touched_at=scope.now)
        )
        if given_up:
            parts_done = len(ledger_queries.list_steps(scope, [turn_id]))
            scope.ring(Bell(_event_of_turn(scope, turn), id=f"{turn_id}:{turn.epoch}:part-{parts_done}"))
    return "handed over" if given_up else "lost"


def ring_turn_again(scope: Scope, turn: Turn) -> None:
    """Ring for a turn whose first bell seems lost, under an id that was never used."""
    scope.change(
        scope.update(turns)
        .where(turns.c.id == turn.id, turns.c.ring == turn.ring)
        .values(ring=turn.ring + 1, rung_at=scope.now)
    )
    scope.ring(Bell(_event_of_turn(scope, turn), id=f"{turn.id}:{turn.epoch}:ring-{turn.ring + 1}"))


def _event_of_turn(scope: Scope, turn: Turn) -> TurnRequested | MainRequested:
    kind = MainRequested if turn.task_id is None else TurnRequested
    return kind(workspace_id=scope.workspace_id, turn_id=turn.id)


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
    if wait is not None and wait.kind == WaitKind.CARD and not {card.id for card in open_cards} & set(wait.refs):
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
