"""Entry of a run into its turn: the step it goes on from, the end of a turn whose input was withdrawn, and the
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

CAUSE_AFTER, CAUSE_RESUMED = "after:", "resume:"
"""Prefixes of the causes of turns that have work to do even without input."""
CAUSE_UNREAD = "heard:"
"""Prefix of the cause of a turn that follows another one only because of input that came meanwhile.

The causes `unread:…` are others: of turns that are queued for input as by its delivery.
"""
_NOTHING_LEFT = "what it was made for was taken back"
_NOTHING_NEW = "what it was woken for was taken back"


def open_turn(dependencies: RuntimeDependencies, workspace_id: str, turn_id: str, run_id: str) -> int | str:
    """Let a run into its turn; return the step it goes on from, or, where it is not let in, the reason.

    Raises NotFoundError for a turn that does not exist.
    """
    with dependencies.database.transaction(workspace_id, "turn.opened") as scope:
        if not enter_turn(scope, turn_id, run_id, dependencies.patience):
            turn = rows.get_turn(scope, turn_id)
            return f"not let in: the turn is {turn.status}"
        return _first_open_step(scope, turn_id)


def _first_open_step(scope: Scope, turn_id: str) -> int:
    """Return the step to go on from: the last stored one, or the next if all its calls have results.

    A last step without calls, or with a successful `finish`, is run again from its record, so that the turn closes.
    """
    steps = ledger_queries.list_steps(scope, [turn_id])
    if not steps:
        return 1
    calls = ledger_queries.list_calls_of_step(scope, turn_id, steps[-1].n)
    complete = bool(calls) and all(call.status in FINISHED_CALL_STATUSES for call in calls)
    finished = any(call.tool == "finish" and call.ok for call in calls)
    return steps[-1].n + 1 if complete and not finished else steps[-1].n


def hand_over_turn(dependencies: RuntimeDependencies, workspace_id: str, turn_id: str, run_id: str) -> str:
    """Release the turn from this run and ring for the next run, which goes on where this one ends."""
    with dependencies.database.transaction(workspace_id, "turn.handed_over") as scope:
        turn = rows.get_turn(scope, turn_id)
        released = scope.change(
            scope.update(turns)
            .where(turns.c.id == turn_id, turns.c.status == TurnStatus.RUNNING, turns.c.run_id == run_id)
            .values(run_id=None, touched_at=scope.now)
        )
        if released:
            steps_done = len(ledger_queries.list_steps(scope, [turn_id]))
            scope.ring(Bell(_event_of_turn(scope, turn), id=f"{turn_id}:{turn.epoch}:part-{steps_done}"))
    return "handed over" if released else "lost"


def ring_turn_again(scope: Scope, turn: Turn) -> None:
    """Ring again for a turn whose bell seems lost, under an id that was not used before."""
    scope.change(
        scope.update(turns)
        .where(turns.c.id == turn.id, turns.c.ring == turn.ring)
        .values(ring=turn.ring + 1, rung_at=scope.now)
    )
    scope.ring(Bell(_event_of_turn(scope, turn), id=f"{turn.id}:{turn.epoch}:ring-{turn.ring + 1}"))


def _event_of_turn(scope: Scope, turn: Turn) -> TurnRequested | MainRequested:
    kind = MainRequested if turn.task_id is None else TurnRequested
    return kind(workspace_id=scope.workspace_id, turn_id=turn.id)


def end_turn_without_input(scope: Scope, fence: TurnFence, turn: Turn, task_id: str) -> bool:
    """Settle a turn that finds no input at its first step; return False where it has work to do all the same.

    The task must be locked. A task all of whose input was withdrawn is stopped, unless a replacement is on its way. A
    turn that was queued for input of the turn before only releases the lease, and its close decides how the task goes
    on. Any other turn for input ends here, and its task gets back the status it had when it was woken.
    """
    if inbox.is_all_withdrawn(scope, task_id):
        fence.close(scope, TurnStatus.STOPPED, _NOTHING_LEFT)
        if not _awaits_replacement(scope, task_id):
            tasks.set_task_fields(scope, task_id, status=TaskStatus.STOPPED, reason=_NOTHING_LEFT)
        return True
    if turn.cause.startswith((CAUSE_AFTER, CAUSE_RESUMED)):
        return False
    if turn.cause.startswith(CAUSE_UNREAD):
        fence.release(scope)
        return True
    return _restore_task(scope, fence, task_id)


def stop_emptied_task(scope: Scope, task_id: str) -> bool:
    """Stop a task whose input was replaced by a message that was withdrawn as well; False where it has work to do."""
    task = tasks.lock_task_with_turn(scope, task_id)
    if (
        task.status != TaskStatus.ACTIVE
        or not inbox.is_all_withdrawn(scope, task_id)
        or _awaits_replacement(scope, task_id)
    ):
        return False
    tasks.set_task_fields(scope, task_id, status=TaskStatus.STOPPED, reason=_NOTHING_LEFT)
    return True


def _restore_task(scope: Scope, fence: TurnFence, task_id: str) -> bool:
    """End the turn and give the task the status it had before; False where its card was answered meanwhile."""
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


def _awaits_replacement(scope: Scope, task_id: str) -> bool:
    """Tell whether a message addressed to the task is still to be delivered."""
    query = scope.select(messages.c.id).where(
        messages.c.to_task_id == task_id, messages.c.state.in_((MessageState.RECEIVED, MessageState.ROUTED))
    )
    return scope.first(query.limit(1)) is not None
