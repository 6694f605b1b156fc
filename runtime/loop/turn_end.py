"""End of a turn: send the reply, decide by stored facts how the task goes on, and store the decision."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile
from typing import assert_never

from core.database import Scope
from runtime.cards import cards
from runtime.dependencies import RuntimeDependencies
from runtime.inbox import inbox, messages
from runtime.inbox.turn_queue import wake_task
from runtime.limits import autonomy
from runtime.loop import entry
from runtime.loop.reply import send_reply
from runtime.statuses import OPEN_TURN_STATUSES, CardKind, MessageState, TaskStatus, TurnStatus, WaitKind
from runtime.tables import turns
from runtime.tasks import checklist, tasks, waits
from runtime.tasks.tasks import Task
from runtime.turns import ledger, ledger_queries, rows
from runtime.turns.lease import TurnFence, hold_turn_lease
from runtime.turns.ledger import Call
from runtime.turns.proceed import (
    AskPerson,
    ChecklistFact,
    EndTask,
    NextTurn,
    NoFurtherTurn,
    ReportNoProgress,
    ReportRefusal,
    TurnFacts,
    WaitForOrders,
    choose_next_move,
)
from runtime.turns.rows import Turn

PLANNING_TOOLS = frozenset({"set_brief", "create_checklist", "update_checklist", "ask_user", "finish"})
"""Tools that only change the plan: calls of them are no progress by themselves."""
BLOCKED_OPTIONS = ({"id": "retry", "label": "Try again"}, {"id": "stop", "label": "Stop the task", "danger": True})


def close_turn(dependencies: RuntimeDependencies, workspace_id: str, turn_id: str, run_id: str) -> str:
    """End a turn and return its final status; of a turn that has ended before, return the status it ended with."""
    with dependencies.database.reading(workspace_id) as scope:
        turn = rows.get_turn(scope, turn_id)
    if turn.status not in OPEN_TURN_STATUSES:
        return turn.status
    with (
        hold_turn_lease(dependencies.database, workspace_id, turn_id, run_id, dependencies.lease) as fence,
        dependencies.database.transaction(workspace_id, "turn.closed") as scope,
    ):
        fence.check(scope)
        turn = rows.get_turn(scope, turn_id)
        dependencies.on_messages_read(scope, turn, send_reply(scope, turn))
        if turn.task_id is None:
            fence.close(scope, TurnStatus.COMPLETED, "")
        else:
            _close_task_turn(scope, dependencies, fence, turn, tasks.lock_task(scope, turn.task_id))
        return rows.get_turn(scope, turn_id).status


def fail_turn(dependencies: RuntimeDependencies, workspace_id: str, turn_id: str, run_id: str, reason: str) -> bool:
    """End a turn whose run cannot go on; return False while its lease is alive, or if another run has the turn now."""
    with dependencies.database.transaction(workspace_id, "turn.failed") as scope:
        turn = rows.get_turn(scope, turn_id)
        return turn.run_id == run_id and give_up_turn(scope, turn, reason)


def give_up_turn(scope: Scope, turn: Turn, reason: str) -> bool:
    """End a running turn as failed, unless its lease is alive; its task is blocked with a card, or stays paused.

    Input that came while the turn failed wakes the task again.
    """
    alive = turn.lease_until is not None and turn.lease_until > scope.now
    if turn.status != TurnStatus.RUNNING or alive:
        return False
    fence = TurnFence(turn.id, turn.epoch + 1, scope.ids.new("lease"))
    if not _seize_lease(scope, turn, fence):
        return False
    ledger.end_open_calls(scope, turn.id)
    fence.close(scope, TurnStatus.FAILED, reason)
    if turn.task_id is None:
        _send_failure(scope, turn, reason)
        return True
    paused = tasks.lock_task(scope, turn.task_id).status == TaskStatus.PAUSED
    inbox.unclaim_inbox(scope, turn.task_id)
    if paused:
        # The person has paused the task: no card is opened and nothing wakes it; `resume` tries again.
        return True
    _block_task(scope, turn.task_id, turn.id, reason)
    # Only input that this turn has not failed on, so that a model that is down is not asked for ever.
    untried = turn.started_at and inbox.find_untried_input(scope, turn.task_id, turn.id, turn.started_at)
    if untried is not None:
        wake_task(scope, turn.task_id, f"unread:{untried}:{turn.id}")
    return True


def _seize_lease(scope: Scope, turn: Turn, fence: TurnFence) -> bool:
    # An execution that claims the lease, or a run that enters, changes one of these, so only one of the two wins.
    token = turns.c.lease_token
    same_token = token.is_(None) if turn.lease_token is None else token == turn.lease_token
    same_run = turns.c.run_id.is_(None) if turn.run_id is None else turns.c.run_id == turn.run_id
    return bool(
        scope.change(
            scope.update(turns)
            .where(
                turns.c.id == turn.id,
                turns.c.status == TurnStatus.RUNNING,
                turns.c.epoch == turn.epoch,
                same_token,
                same_run,
            )
            .values(epoch=fence.epoch, lease_token=fence.token, lease_until=scope.now)
        )
    )


def _send_failure(scope: Scope, turn: Turn, reason: str) -> None:
    message = messages.get_message(scope, turn.message_id or "")
    messages.store_agent_message(
        scope,
        person_id=message.person_id,
        text=f"I could not answer this: {reason}",
        task_id=None,
        reply_to=message.id,
        cause=f"failed:{turn.id}",
        language="en",
        turn_id=turn.id,
    )
    messages.set_message_state(
        scope, message.id, MessageState.ANSWERED, was=(MessageState.DELIVERED, MessageState.CONSUMED)
    )


def _close_task_turn(scope: Scope, dependencies: RuntimeDependencies, fence: TurnFence, turn: Turn, task: Task) -> None:
    inbox.unclaim_inbox(scope, task.id)
    facts = _gather_facts(scope, dependencies, turn, task)
    waits.end_wait(scope, task.id)
    idle = 0 if facts.progressed else task.idle_rounds + 1
    move = choose_next_move(facts)
    match move:
        case NoFurtherTurn(reason):
            fence.close(scope, TurnStatus.COMPLETED, reason)
        case NextTurn():
            fence.close(scope, TurnStatus.COMPLETED, "more to do")
            tasks.set_task_fields(scope, task.id, idle_rounds=idle)
            wake_task(scope, task.id, f"{_cause_prefix(facts)}{turn.id}")
        case WaitForOrders(orders):
            fence.close(scope, TurnStatus.WAITING, f"{len(orders)} awaited")
            waits.begin_wait(scope, task.id, turn.id, WaitKind.GENERATION, orders)
            tasks.set_task_fields(scope, task.id, status=TaskStatus.WAITING, reason="", idle_rounds=idle)
        case AskPerson(checkpoint):
            fence.close(scope, TurnStatus.GATED, "a person must answer")
            card_ids = facts.open_cards if checkpoint is None else [_open_checkpoint(scope, turn, task, checkpoint)]
            waits.begin_wait(scope, task.id, turn.id, WaitKind.CARD, card_ids)
            tasks.set_task_fields(scope, task.id, status=TaskStatus.WAITING, reason="", idle_rounds=idle)
        case EndTask():
            fence.close(scope, TurnStatus.COMPLETED, "")
            tasks.set_task_fields(scope, task.id, status=TaskStatus.DONE, reason="", idle_rounds=0, setbacks=0)
        case ReportNoProgress(count):
            fence.close(scope, TurnStatus.COMPLETED, "no progress")
            _block_task(scope, task.id, turn.id, f"{count} turns went by without {_missing(facts)}")
        case ReportRefusal():
            fence.close(scope, TurnStatus.COMPLETED, "the model declined")
            _block_task(scope, task.id, turn.id, "the model declines this work; say it differently, or stop the task")
        case _:
            assert_never(move)


def _cause_prefix(facts: TurnFacts) -> str:
    """Return the prefix of the next turn's cause: it tells whether work is left even if the input is withdrawn."""
    without_input = choose_next_move(replace(facts, unread=False))
    return entry.CAUSE_UNREAD if isinstance(without_input, EndTask | WaitForOrders | AskPerson) else entry.CAUSE_AFTER


def _gather_facts(scope: Scope, dependencies: RuntimeDependencies, turn: Turn, task: Task) -> TurnFacts:
    approved = checklist.list_approved_checkpoints(scope, task.id)
    calls = ledger_queries.list_calls(scope, [turn.id])
    return TurnFacts(
        task_status=task.status,
        kind=task.kind,
        autonomy=task.autonomy,
        checklist=tuple(
            ChecklistFact(
                step.n,
                step.status,
                step.checkpoint,
                step.n in approved,
                step.mandatory,
                step.plan <= task.approved_plan,
                step.stale,
            )
            for step in checklist.list_checklist(scope, task.id)
        ),
        open_orders=tuple(dependencies.open_orders(scope, task.id)),
        open_cards=tuple(
            card.id
            for card in cards.list_all_open_cards(scope, task.id)
            if card.kind not in (CardKind.RESULT, CardKind.BLOCKED)
        ),
        unread=bool(inbox.list_unread(scope, task.id)),
        progressed=_has_progress(calls) or bool(inbox.list_read_by_turn(scope, turn.id)),
        idle_rounds=task.idle_rounds,
        most_idle_rounds=dependencies.most_idle_rounds,
        refused=_has_declined(scope, turn),
        finished=any(call.tool == "finish" and call.ok for call in calls),
        turns_without_input=_count_turns_without_input(scope, task.id, dependencies.most_turns_alone),
        most_turns_without_input=dependencies.most_turns_alone,
    )


def _has_declined(scope: Scope, turn: Turn) -> bool:
    steps = ledger_queries.list_steps(scope, [turn.id])
    return bool(steps) and steps[-1].refused


def _count_turns_without_input(scope: Scope, task_id: str, most: int) -> int:
    """Count the newest turns in a row, up to `most`, that have read no input."""
    newest = [turn.id for turn in rows.list_turns_of_task(scope, task_id, limit=most)]
    with_input = {item.turn_id for item in inbox.list_read_by_turns(scope, newest)}
    return sum(1 for _ in takewhile(lambda turn_id: turn_id not in with_input, reversed(newest)))


def _missing(facts: TurnFacts) -> str:
    """Say what the turns lacked that count as too many: input if this one has progressed, else results."""
    return "a word from anybody; shall it go on?" if facts.progressed else "a new result"


def _has_progress(calls: Sequence[Call]) -> bool:
    if any(call.ok and call.effect != "read" and call.tool not in PLANNING_TOOLS for call in calls):
        return True
    return any(call.ok and call.result is not None and call.result.get("newly_done") for call in calls)


def _open_checkpoint(scope: Scope, turn: Turn, task: Task, n: int) -> str:
    """Open the card of a checkpoint that the model has not asked about; return its id. Each turn opens its own."""
    step = next(step for step in checklist.list_checklist(scope, task.id) if step.n == n)
    card = cards.open_card(
        scope,
        kind=CardKind.CHECKPOINT,
        title=step.title,
        body=step.acceptance,
        options=cards.CHECKPOINT_OPTIONS,
        cause=f"checkpoint:{turn.id}:{n}",
        task_id=task.id,
        subject={**checklist.make_checkpoint_subject(step), "evidence": list(step.evidence)},
    )
    return card.id


def _block_task(scope: Scope, task_id: str, turn_id: str, reason: str) -> None:
    tasks.set_task_fields(scope, task_id, status=TaskStatus.BLOCKED, reason=reason)
    autonomy.add_setback(scope, task_id, turn_id)
    cards.open_card(
        scope,
        kind=CardKind.BLOCKED,
        title="The task is blocked",
        body=reason,
        options=BLOCKED_OPTIONS,
        cause=f"blocked:{turn_id}",
        task_id=task_id,
        turn_id=turn_id,
    )
