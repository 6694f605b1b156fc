"""Replies to a message, as its reader sees them."""

from __future__ import annotations

from app.web.presenters.message import message_by_id
from core.database import Scope
from runtime.inbox import messages
from runtime.inbox.messages import Message


def replies_to(scope: Scope, message_id: str) -> list[Message]:
    """Return the replies, oldest first."""
    return messages.list_messages_by_ids(scope, message_by_id(scope, message_id)["replies"])
