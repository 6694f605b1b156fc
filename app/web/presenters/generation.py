"""The shape of a generation: an order at a provider."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import sqlalchemy as sa
from typing_extensions import TypedDict

from app.web.presenters.values import Moment, MoneyShape, moment, money_shape
from core.database import Scope
from core.errors import NotFoundError
from generation.orders.order import order_of
from generation.tables import orders

FINAL = ("succeeded", "failed", "cancelled", "unresolved")


Contested = TypedDict(
    "Contested",
    {
        "reason": str,
        "quoted": MoneyShape | None,
        "billed": str | None,
        "charged": MoneyShape | None,
        "with": str,
        "text": str,
    },
)


class GenerationShape(TypedDict):
    """`progress` is from 0 to 1; `most` is the highest possible cost, `claim` what the provider bills."""

    id: str
    task_id: str | None
    turn_id: str | None
    call_id: str
    kind: str
    title: str
    provider: str
    model: str
    state: str
    progress: float
    quote: MoneyShape | None
    most: MoneyShape | None
    charge: MoneyShape | None
    claim: str | None
    contested: Contested | None
    upstream_id: str | None
    object_ids: list[str]
    error: str | None
    created_at: Moment
    ended_at: Moment | None


def generation_by_id(scope: Scope, order_id: str) -> GenerationShape:
    """Return a generation's shape. Raise NotFoundError."""
    row = scope.first(scope.select(orders).where(orders.c.id == order_id))
    if row is None:
        raise NotFoundError(f"no generation {order_id[:80]} in this workspace")
    return _shape(row)


def generations_of_task(scope: Scope, task_id: str, *, unfinished: bool = False) -> list[GenerationShape]:
    """Return a task's generations, oldest first."""
    query = scope.select(orders).where(orders.c.task_id == task_id)
    if unfinished:
        query = query.where(orders.c.state.not_in(FINAL))
    return [_shape(row) for row in scope.rows(query.order_by(orders.c.created_at, orders.c.id).limit(200))]


def _contested(row: sa.Row[Any]) -> Contested | None:
    """Return what was quoted, billed and charged, and with whom the rest is contested; None if nothing is."""
    if row.contested is None:
        return None
    return {
        "reason": row.contested,
        "quoted": money_shape(row.quote, row.currency),
        "billed": row.claim,
        "charged": money_shape(row.charge or Decimal(0), row.currency),
        "with": row.provider,
        "text": order_of(row).contested_in_words,
    }


def _shape(row: sa.Row[Any]) -> GenerationShape:
    return {
        "id": row.id,
        "task_id": row.task_id,
        "turn_id": row.turn_id,
        "call_id": row.call_id,
        "kind": row.kind,
        "title": row.title,
        "provider": row.provider,
        "model": row.model,
        "state": row.state,
        "progress": row.progress,
        "quote": money_shape(row.quote, row.currency),
        "most": money_shape(row.most, row.currency),
        "charge": money_shape(row.charge, row.currency),
        "claim": row.claim,
        "contested": _contested(row),
        "upstream_id": row.upstream_id,
        "object_ids": list(row.object_ids),
        "error": row.error,
        "created_at": moment(row.created_at),
        "ended_at": moment(row.ended_at),
    }
