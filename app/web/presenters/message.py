"""A message, with where it went and which step read it."""

from __future__ import annotations

from typing import Any

from app.web.presenters.values import moment
from core.database import Scope
from runtime import messages
from runtime.messages import Message
from runtime.tables import calls, inbox, routes
from runtime.turns import rows as turns


def message_by_id(scope: Scope, message_id: str) -> dict[str, Any]:
    """The whole shape; raises NotFoundError."""
    return message_in_full(scope, messages.get(scope, message_id))


def message_head(message: Message) -> dict[str, Any]:
    """What the message itself says."""
    return {
        "id": message.id,
        "author": message.author,
        "asked_by": message.asked_by,
        "text": message.text,
        "attachments": list(message.attachments),
        "state": message.state,
        "task_id": message.task_id or message.to_task_id,
        "object_id": message.to_object_id,
        "card_id": message.to_card_id,
        "reply_to": message.reply_to,
        "replaced_by": message.replaced_by,
        "created_at": moment(message.created_at),
    }


def message_in_full(scope: Scope, message: Message) -> dict[str, Any]:
    consumed = _consumed_by(scope, message)
    return {
        **message_head(message),
        # A stored verdict is no route yet: the task it makes is made by the delivery.
        "route": None if message.state == "received" else _route(scope, message.id),
        "parts": [],
        "consumed_by": consumed,
        "calls": _calls(scope, consumed) if consumed else [],
        "replies": [reply.id for reply in messages.replies_to(scope, message.id)],
    }


def _route(scope: Scope, message_id: str) -> dict[str, Any] | None:
    row = scope.first(scope.select(routes).where(routes.c.message_id == message_id))
    if row is None:
        return None
    return {
        "level": row.level,
        "outcome": row.outcome,
        "task_id": row.task_id,
        "reasons": row.reasons,
        "candidates": row.candidates,
        "object_ids": row.object_ids,
    }


def _consumed_by(scope: Scope, message: Message) -> dict[str, Any] | None:
    if message.author != "user":
        return None
    row = scope.first(
        scope.select(inbox.c.turn_id, inbox.c.step).where(
            inbox.c.kind == "message", inbox.c.ref_id == message.id, inbox.c.state == "consumed"
        )
    )
    if row is not None:
        return {"turn_id": row.turn_id, "step": row.step}
    turn = turns.of_message(scope, message.id)
    if turn is None or message.state not in {"consumed", "answered"}:
        return None
    return {"turn_id": turn.id, "step": 1}


def _calls(scope: Scope, consumed: dict[str, Any]) -> list[str]:
    query = scope.select(calls.c.id).where(calls.c.turn_id == consumed["turn_id"], calls.c.step == consumed["step"])
    return [row.id for row in scope.rows(query.order_by(calls.c.seq))]
