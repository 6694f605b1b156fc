"""Reroute of a message: move it to another task when its person corrects the routing, unless a step has read it."""

from __future__ import annotations

from core.database import Scope
from core.errors import ConflictError, InvalidError, NotFoundError
from router.decision import RouteDecision, find_decision, record_decision, revise_decision
from router.delivery import deliver_to_new_task, deliver_to_task, find_obstacle
from router.dependencies import RouteWorks
from router.language import router_sentence
from router.option_match import NEW_TASK
from runtime.commands import control
from runtime.inbox import messages, replies
from runtime.inbox.messages import Message, set_message_state
from runtime.statuses import (
    OPEN_TURN_STATUSES,
    READ_INPUT_STATES,
    CallStatus,
    CardState,
    InputKind,
    InputState,
    MessageState,
    TurnStatus,
)
from runtime.tables import cards, inbox, turns
from runtime.tables import tasks as tasks_table
from runtime.tasks import tasks
from runtime.turns import ledger_queries

_REASON = "the person moved it here"


def reroute_message(scope: Scope, works: RouteWorks, message_id: str, target: str) -> Message:
    """Move a message to the task `target`, or to a new task for `"new"`.

    Raises ConflictError when a step has read it, with that step and its calls, or when the target cannot take it, with
    the target's state.
    """
    message = messages.get_message(scope, message_id)
    if message.author != "user":
        raise InvalidError("only a person's own message can be moved")
    if target != NEW_TASK and target == message.task_id:
        return message
    _lock_rows(scope, message, target)
    if target != NEW_TASK:
        _check_target(scope, message, target)
    _release_message(scope, message)
    decision, released = _find_or_record_decision(scope, message), messages.get_message(scope, message_id)
    # The message's id may be the cause of a task or turn already, and a message may be moved more than once.
    cause = f"{message_id}:{scope.ids.new('moved')}"
    if target == NEW_TASK:
        made = deliver_to_new_task(scope, works, released, decision, "persistent", cause)
        revise_decision(scope, message_id, "new", made.id, _REASON)
    else:
        revise_decision(scope, message_id, "existing", target, _REASON)
        deliver_to_task(scope, works, released, decision, tasks.get_task(scope, target), cause)
    _archive_empty_task(scope, message)
    return messages.get_message(scope, message_id)


def _lock_rows(scope: Scope, message: Message, target: str) -> None:
    """Lock every row that the move may change, in the order of all transactions: turns, then tasks."""
    if message.task_id is not None:
        scope.rows(
            scope.select(turns)
            .where(turns.c.task_id == message.task_id, turns.c.status.in_(OPEN_TURN_STATUSES))
            .with_for_update()
        )
    for task_id in sorted({task_id for task_id in (message.task_id, target) if task_id not in {None, NEW_TASK}}):
        scope.first(scope.select(tasks_table.c.id).where(tasks_table.c.id == task_id).with_for_update())


def _check_target(scope: Scope, message: Message, target: str) -> None:
    obstacle = find_obstacle(scope, target)
    if obstacle is None:
        return
    if obstacle[0] == "unknown":
        raise NotFoundError(f"no task {target} in this workspace")
    raise ConflictError(router_sentence(message.language, *obstacle), state=obstacle[0])


def _release_message(scope: Scope, message: Message) -> None:
    """Take the message back from where it is, to `routed`; raises ConflictError when a step has read it."""
    match message.state:
        case MessageState.RECEIVED:
            moved = set_message_state(
                scope, message.id, MessageState.ROUTED, was=(MessageState.RECEIVED,), routed_at=scope.now
            )
        case MessageState.ROUTED:
            _close_question(scope, message)
            moved = True
        case MessageState.DELIVERED | MessageState.SUPERSEDED:
            taken = _take_from_inbox(scope, message) if message.task_id else _take_from_main(scope, message)
            moved = taken and set_message_state(
                scope, message.id, MessageState.ROUTED, was=(MessageState.DELIVERED, MessageState.SUPERSEDED)
            )
        case _:
            moved = False
    if not moved:
        raise _read_conflict(scope, messages.get_message(scope, message.id))


def _close_question(scope: Scope, message: Message) -> None:
    """Supersede the card that asked where the message belongs, since the move answers it."""
    open_cards = scope.rows(
        scope.select(cards.c.id).where(cards.c.message_id == message.id, cards.c.state == CardState.OPEN)
    )
    for row in open_cards:
        scope.change(scope.update(cards).where(cards.c.id == row.id).values(state=CardState.SUPERSEDED))
        scope.changed("card", row.id)


def _take_from_inbox(scope: Scope, message: Message) -> bool:
    gone = scope.change(
        scope.update(inbox)
        .where(
            inbox.c.kind == InputKind.MESSAGE,
            inbox.c.ref_id == message.id,
            inbox.c.task_id == message.task_id,
            inbox.c.state.in_((InputState.DELIVERED, InputState.SUPERSEDED)),
        )
        .values(state=InputState.MOVED)
    )
    scope.changed("task", str(message.task_id))
    return gone == 1


def _take_from_main(scope: Scope, message: Message) -> bool:
    ended = scope.change(
        scope.update(turns)
        .where(turns.c.message_id == message.id, turns.c.status == TurnStatus.QUEUED)
        .values(status=TurnStatus.STOPPED, reason=_REASON, ended_at=scope.now)
    )
    return ended == 1


def _archive_empty_task(scope: Scope, message: Message) -> None:
    """Archive the task that was made for this message alone, if it has read nothing."""
    if message.task_id is None:
        return
    left = tasks.get_task(scope, message.task_id)
    used = (InputState.DELIVERED, *READ_INPUT_STATES)
    others = scope.first(scope.select(inbox.c.id).where(inbox.c.task_id == left.id, inbox.c.state.in_(used)))
    if left.cause == message.id and others is None:
        control.archive_task(scope, left.id)


def _find_or_record_decision(scope: Scope, message: Message) -> RouteDecision:
    decision = find_decision(scope, message.id)
    if decision is None:
        # The caller revises this row: it stores where the message is moved.
        decision = RouteDecision("explicit", "existing", None, ())
        record_decision(scope, message.id, decision, message.language or "en")
    return decision


def _read_conflict(scope: Scope, message: Message) -> ConflictError:
    reader = replies.find_reader(scope, message)
    calls = ledger_queries.list_calls(scope, [reader[0]]) if reader else []
    done = [call.id for call in calls if reader and call.step == reader[1] and call.status != CallStatus.PROPOSED]
    return replies.make_read_conflict(message, reader, calls=done)
