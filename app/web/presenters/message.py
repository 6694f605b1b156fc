"""The shapes of messages, with their route and the step that read each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime

from typing_extensions import TypedDict

from app.web.presenters.values import Moment, moment
from core.database import Scope
from generation.tables import orders
from runtime.inbox import messages, replies
from runtime.inbox.messages import Message
from runtime.statuses import WITHDRAWN_MESSAGE_STATES, CardKind, InputKind, InputState, MessageState
from runtime.tables import calls, cards, inbox, routes, steps, turns
from runtime.tables import messages as message_rows

ReadingStep = tuple[str, int]
"""A turn and the number of its step."""


class CandidateShape(TypedDict):
    """A task that was considered; `score` is from 0 to 1."""

    task_id: str
    score: float


class RouteShape(TypedDict):
    """Where a message went, and why."""

    level: str
    outcome: str
    task_id: str | None
    reasons: list[str]
    candidates: list[CandidateShape]
    object_ids: list[str]
    at: Moment


class ConsumedBy(TypedDict):
    turn_id: str
    step: int


class MessageHead(TypedDict):
    """`attachments` are ids of works; `task_id` is null in Main."""

    id: str
    author: str
    asked_by: str
    text: str
    attachments: list[str]
    state: str
    task_id: str | None
    object_id: str | None
    card_id: str | None
    reply_to: str | None
    replaced_by: str | None
    created_at: Moment


class MessageShape(MessageHead):
    """`parts` are messages that belong to the same request: answers to the question about this one.

    `unaffected` are orders that a provider was already working on when it came; the message applies to later ones.
    """

    route: RouteShape | None
    parts: list[str]
    consumed_by: ConsumedBy | None
    read_at: Moment | None
    calls: list[str]
    unaffected: list[str]
    replies: list[str]


def message_by_id(scope: Scope, message_id: str) -> MessageShape:
    """Return a message's full shape. Raise NotFoundError."""
    return messages_in_full(scope, [messages.get_message(scope, message_id)])[0]


def message_head(message: Message) -> MessageHead:
    """Return the message's own columns, without its route and readers."""
    return {
        "id": message.id,
        "author": message.author,
        "asked_by": message.asked_by,
        "text": message.text,
        "attachments": list(message.attachments),
        "state": message.state,
        "task_id": _task_of(message),
        "object_id": message.to_object_id,
        "card_id": message.to_card_id,
        "reply_to": message.reply_to,
        "replaced_by": message.replaced_by,
        "created_at": moment(message.created_at),
    }


def _task_of(message: Message) -> str | None:
    return message.task_id or message.to_task_id


def messages_in_full(scope: Scope, some: Sequence[Message]) -> list[MessageShape]:
    """Return the full shapes, in a fixed number of queries."""
    ids = [message.id for message in some]
    went, read_by = _routes(scope, ids), _readers(scope, some)
    replies_of = replies.list_replies(
        scope, some, {message_id: turn_id for message_id, (turn_id, _) in read_by.items()}
    )
    made, parts = _calls(scope, list(read_by.values())), _parts(scope, ids)
    read_at, unaffected = _read_at(scope, list(read_by.values())), _unaffected(scope, some)
    return [
        {
            **message_head(message),
            "route": went.get(message.id),
            "parts": parts[message.id],
            "consumed_by": _reader_shape(read_by.get(message.id)),
            "read_at": moment(read_at.get(read_by[message.id])) if message.id in read_by else None,
            "calls": made[read_by[message.id]] if message.id in read_by else [],
            "unaffected": unaffected[message.id],
            "replies": replies_of[message.id],
        }
        for message in some
    ]


def _reader_shape(reader: ReadingStep | None) -> ConsumedBy | None:
    return None if reader is None else {"turn_id": reader[0], "step": reader[1]}


def _routes(scope: Scope, ids: Sequence[str]) -> Mapping[str, RouteShape]:
    return {
        row.message_id: {
            "level": row.level,
            "outcome": row.outcome,
            "task_id": row.task_id,
            "reasons": row.reasons,
            "candidates": row.candidates,
            "object_ids": row.object_ids,
            "at": moment(row.created_at),
        }
        for row in scope.rows(scope.select(routes).where(routes.c.message_id.in_(ids)))
    }


def _parts(scope: Scope, ids: Sequence[str]) -> Mapping[str, list[str]]:
    """Return the answers to the question where each message belongs, oldest first, without withdrawn ones."""
    answers = scope.select(cards.c.message_id, message_rows.c.id).where(
        cards.c.message_id.in_(ids),
        cards.c.kind == CardKind.CLARIFY,
        cards.c.task_id.is_(None),
        message_rows.c.workspace_id == cards.c.workspace_id,
        message_rows.c.to_card_id == cards.c.id,
        message_rows.c.author == "user",
        message_rows.c.state.not_in(WITHDRAWN_MESSAGE_STATES),
    )
    found: dict[str, list[str]] = defaultdict(list)
    for row in scope.rows(answers.order_by(message_rows.c.created_at, message_rows.c.id)):
        found[row.message_id].append(row.id)
    return found


def _readers(scope: Scope, some: Sequence[Message]) -> dict[str, ReadingStep]:
    in_inbox = scope.select(inbox.c.ref_id, inbox.c.turn_id, inbox.c.step).where(
        inbox.c.kind == InputKind.MESSAGE,
        inbox.c.ref_id.in_([message.id for message in some]),
        inbox.c.state == InputState.CONSUMED,
    )
    # Main has no inbox: each of its turns is for one message, which the first step reads.
    read_ids = [message.id for message in some if message.state in {MessageState.CONSUMED, MessageState.ANSWERED}]
    in_main = scope.select(turns.c.message_id, turns.c.id).where(turns.c.message_id.in_(read_ids))
    found: dict[str, ReadingStep] = {row.message_id: (row.id, 1) for row in scope.rows(in_main)}
    return found | {row.ref_id: (row.turn_id, row.step) for row in scope.rows(in_inbox)}


def _calls(scope: Scope, readers: Sequence[ReadingStep]) -> Mapping[ReadingStep, list[str]]:
    query = scope.select(calls.c.id, calls.c.turn_id, calls.c.step).where(
        calls.c.turn_id.in_({turn_id for turn_id, _ in readers})
    )
    found: dict[ReadingStep, list[str]] = defaultdict(list)
    for row in scope.rows(query.order_by(calls.c.step, calls.c.seq)):
        found[row.turn_id, row.step].append(row.id)
    return found


def _read_at(scope: Scope, readers: Sequence[ReadingStep]) -> Mapping[ReadingStep, datetime]:
    query = scope.select(steps.c.turn_id, steps.c.n, steps.c.created_at).where(
        steps.c.turn_id.in_({turn_id for turn_id, _ in readers}), steps.c.n.in_({step for _, step in readers})
    )
    return {(row.turn_id, row.n): row.created_at for row in scope.rows(query)}


def _unaffected(scope: Scope, some: Sequence[Message]) -> Mapping[str, list[str]]:
    """Return the orders that were running when each message came, without those whose cancelling was requested."""
    task_by_message = {message: _task_of(message) for message in some if message.author == "user" and _task_of(message)}
    query = scope.select(orders.c.id, orders.c.task_id, orders.c.submitted_at, orders.c.ended_at).where(
        orders.c.task_id.in_(set(task_by_message.values())),
        orders.c.submitted_at.is_not(None),
        orders.c.cancel_requested_at.is_(None),
    )
    sent = scope.rows(query.order_by(orders.c.created_at, orders.c.id))
    found: dict[str, list[str]] = defaultdict(list)
    for message, task_id in task_by_message.items():
        found[message.id] = [
            order.id
            for order in sent
            if order.task_id == task_id
            and order.submitted_at < message.created_at
            and (order.ended_at is None or order.ended_at > message.created_at)
        ]
    return found
