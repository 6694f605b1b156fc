"""What stands in the runtime's rows under the id of a call: the traces of what it did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from core.database import Scope
from runtime.tables import cards, messages, notices


def of_call(scope: Scope, call_id: str) -> Sequence[Mapping[str, Any]]:
    """Cards, messages and notices; a card asked for several calls of one decision stands under each of them."""
    return [
        *_cards(scope, call_id),
        *_caused(scope, messages, "message", call_id),
        *_caused(scope, notices, "notice", call_id),
    ]


def _cards(scope: Scope, call_id: str) -> list[Mapping[str, Any]]:
    turn_id, step, _ = call_id.rsplit(":", 2)
    decision = f"{turn_id}:{step}"
    query = scope.select(cards).where(
        sa.or_(cards.c.cause == call_id, cards.c.cause.startswith(f"{decision}:", autoescape=True))
    )
    return [
        {"kind": "card", "id": row.id, "card_kind": row.kind, "state": row.state, "option": row.answer_option}
        for row in scope.rows(query.order_by(cards.c.created_at, cards.c.id))
        if row.cause == call_id or row.cause.startswith(f"{call_id}:") or call_id in row.subject.get("call_ids", ())
    ]


def _caused(scope: Scope, table: sa.Table, kind: str, call_id: str) -> list[Mapping[str, Any]]:
    rows = scope.rows(scope.select(table.c.id).where(table.c.cause == call_id))
    return [{"kind": kind, "id": row.id} for row in rows]
