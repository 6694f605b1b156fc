"""Decision of one step: claim the inputs, ask the model, and store its decision before any call of it starts."""

from __future__ import annotations

from dataclasses import dataclass, replace

from core.database import Scope
from core.errors import LoopwrightError, ModelError
from core.llm.port import Decision
from core.process import crash
from runtime.cards import cards
from runtime.context import model_request
from runtime.dependencies import RuntimeDependencies
from runtime.inbox import inbox, messages
from runtime.inbox.inbox import InboxItem
from runtime.inbox.messages import set_message_state
from runtime.loop import entry
from runtime.statuses import (
    RESTING_TASK_STATUSES,
    WITHDRAWN_MESSAGE_STATES,
    CardKind,
    CardState,
    MessageState,
    TurnStatus,
)
from runtime.tasks import tasks
from runtime.turns import ledger, ledger_queries, proceed, snapshot
from runtime.turns.lease import TurnFence, acquire_turn_lease, renew_while
from runtime.turns.rows import Turn
from runtime.turns.snapshot import DecisionSnapshot

MOST_CALLS_OF_DECISION = 16
"""Calls of one decision; further ones are dropped, which the model sees in its history."""
MOST_DECISIONS_OF_TURN = 200
"""Decisions of one turn, over all its runs."""


@dataclass(frozen=True)
class StoredDecision:
    """How many calls the stored decision proposes; a decision without calls ends the turn."""

    calls: int


_NOTHING_MORE = StoredDecision(0)


def decide_step(
    dependencies: RuntimeDependencies, workspace_id: str, turn_id: str, run_id: str, n: int
) -> StoredDecision:
    """Return the stored decision of step `n`, or make and store it.

    The model is asked only if no decision is stored. It is not asked for a task that was paused or ended meanwhile, or
    for a withdrawn message: then nothing is stored and the turn closes. Raises LostError, BusyError, the model port's
    errors, and ModelError for a turn that repeats itself without progress.
    """
    with acquire_turn_lease(
        dependencies.database, workspace_id, turn_id, run_id, dependencies.lease, "decide.claimed"
    ) as (
        scope,
        fence,
        turn,
    ):
        # Main has no task, and so no snapshot.
        before = None if turn.task_id is None else snapshot.read_before_decision(scope, turn.task_id, turn_id, n)
        if before.decided if before is not None else ledger_queries.find_step(scope, turn_id, n) is not None:
            fence.release(scope)
            return StoredDecision(len(ledger_queries.list_calls_of_step(scope, turn_id, n)))
        if _end_if_over(scope, fence, turn, before):
            return _NOTHING_MORE
        _check_repetition(scope, turn, n, before)
        # Input that comes after the snapshot is read by a later step, like input that comes while the model thinks.
        items = inbox.claim_inbox(scope, before.task.id, turn_id, n) if before is not None and before.unread else []
        if n == 1 and before is not None and not items:
            # With the task locked, a delivery waits for this transaction or was committed before this second claim.
            tasks.lock_task(scope, before.task.id)
            items = inbox.claim_inbox(scope, before.task.id, turn_id, n)
            if not items and entry.end_turn_without_input(scope, fence, turn, before.task.id):
                return _NOTHING_MORE
        if before is not None and before.blocked:
            # The task works again, so the question whether to try again is void.
            cards.close_open_cards(scope, before.task.id, CardState.SUPERSEDED, kinds=(CardKind.BLOCKED,))
    with renew_while(dependencies.database, workspace_id, fence, dependencies.lease):
        try:
            with dependencies.database.reading(workspace_id) as scope:
                request = model_request.build_request(
                    scope, turn, items, dependencies, None if before is None else before.task
                )
            with crash.around("model.ask"):
                decision = dependencies.model.decide(request.messages, request.tools)
            if turn.task_id is None and not decision.text.strip() and not decision.calls:
                raise ModelError("the model answered nothing")
        except LoopwrightError:
            _unclaim_input(dependencies, workspace_id, fence, turn)
            raise
        decision = replace(decision, calls=decision.calls[:MOST_CALLS_OF_DECISION])
        with dependencies.database.transaction(workspace_id, "decide.recorded") as scope:
            recorded = _record_decision(scope, dependencies, fence, turn, n, decision, items, request)
    return StoredDecision(len(decision.calls)) if recorded else _NOTHING_MORE


def _end_if_over(scope: Scope, fence: TurnFence, turn: Turn, before: DecisionSnapshot | None) -> bool:
    """Release the lease if a person has ended or paused the work, or withdrawn the message; return whether so."""
    if before is None:
        return _end_if_withdrawn(scope, fence, turn)
    if before.task.status not in RESTING_TASK_STATUSES:
        return False
    fence.release(scope)
    return True


def _end_if_withdrawn(scope: Scope, fence: TurnFence, turn: Turn) -> bool:
    """End a turn of Main whose message was withdrawn; return whether it was."""
    state = messages.get_message(scope, turn.message_id or "").state
    if state not in WITHDRAWN_MESSAGE_STATES:
        return False
    fence.close(scope, TurnStatus.STOPPED, f"the message was {state}")
    return True


def _check_repetition(scope: Scope, turn: Turn, n: int, before: DecisionSnapshot | None) -> None:
    """Raise ModelError for a turn with too many decisions, or with a call that keeps failing."""
    if n > MOST_DECISIONS_OF_TURN:
        raise ModelError(f"the turn took {MOST_DECISIONS_OF_TURN} decisions and came to no end")
    may_repeat = n > proceed.MOST_REPEATS and (before is None or before.failed)
    stuck = proceed.find_repeated_failure(ledger_queries.list_failed_calls(scope, turn.id)) if may_repeat else None
    if stuck is not None:
        why = f": {stuck.reason}" if stuck.reason else ""
        raise ModelError(f"the same call of {stuck.tool} failed {proceed.MOST_REPEATS} times{why}")


def _unclaim_input(dependencies: RuntimeDependencies, workspace_id: str, fence: TurnFence, turn: Turn) -> None:
    """Make the claimed inputs unread after a failed decision, so that they can be withdrawn until the retry."""
    if turn.task_id is None:
        return
    with dependencies.database.transaction(workspace_id, "decide.given_back") as scope:
        fence.check(scope)
        inbox.unclaim_inbox(scope, turn.task_id)


def _record_decision(
    scope: Scope,
    dependencies: RuntimeDependencies,
    fence: TurnFence,
    turn: Turn,
    n: int,
    decision: Decision,
    items: list[InboxItem],
    request: model_request.DecisionRequest,
) -> bool:
    """Store the decision, mark what it has read and release the lease; False if Main's message was withdrawn."""
    if turn.message_id is not None:
        fence.check(scope)
        read = set_message_state(
            scope,
            turn.message_id,
            MessageState.CONSUMED,
            was=(MessageState.DELIVERED, MessageState.ROUTED),
            turn_id=turn.id,
        )
        if not read and _end_if_withdrawn(scope, fence, turn):
            return False
    fence.release(scope)
    effects = {name: tool.effect for name, tool in dependencies.tools_for(turn.task_id).items()}
    ledger.record_decision(scope, fence, n, decision, effects, request.layers)
    inbox.consume_inbox(scope, items, turn.id, n)
    return True
