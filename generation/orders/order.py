"""Orders: our record of a work that a provider makes, and the queries that read it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from typing import Any

import sqlalchemy as sa

from core.database import Scope
from core.errors import NotFoundError
from core.sql import statements
from generation.orders.billing import AgreedPrice, Bill, Contest, describe_contest
from generation.orders.states import OPEN_ORDER_STATES, OrderState
from generation.tables import orders
from runtime.tables import tasks

_TASKS_COUNTED = 20
_NEWEST_OF_TASK = (
    statements.select(orders)
    .where(orders.c.task_id == sa.bindparam("task"))
    .order_by(orders.c.created_at.desc(), orders.c.call_id.desc())
    .limit(sa.bindparam("most"))
)


@dataclass(frozen=True)
class Order:
    """An order as stored.

    `key` is the idempotency key that the provider gets; `outputs` is what the provider says that it made, known before
    the order is settled. `inputs` are `{role, object_id, version, sha256, media_type}`.

    `most` is the most that may be charged, `claim` the cost that the provider reports, `charge` what was booked at the
    end, and `contested` why the two differ, if they do.

    `lost` counts how often in a row the provider did not know the job. `doubted_at` is set while the end is disputed,
    and `doubts` counts the disputes. `not_before` is when the order may be sent again to a busy provider.
    """

    id: str
    task_id: str | None
    turn_id: str
    call_id: str
    key: str
    digest: str
    title: str
    kind: str
    provider: str
    model: str
    params: Mapping[str, Any]
    inputs: tuple[Mapping[str, Any], ...]
    object_id: str | None
    base_version: int | None
    state: OrderState
    progress: float
    quote: Decimal
    most: Decimal
    claim: str | None
    charge: Decimal | None
    contested: Contest | None
    currency: str
    upstream_id: str | None
    outputs: tuple[Mapping[str, Any], ...]
    object_ids: tuple[str, ...]
    error: str | None
    lost: int
    doubts: int
    doubted_at: datetime | None
    epoch: int
    ring: int
    lease_token: str | None
    lease_until: datetime | None
    news_at: datetime
    rung_at: datetime
    cancel_requested_at: datetime | None
    created_at: datetime
    not_before: datetime | None
    submitted_at: datetime | None
    deadline: datetime
    ended_at: datetime | None

    @property
    def open(self) -> bool:
        """Tell whether the order has not ended."""
        return self.state in OPEN_ORDER_STATES

    @property
    def agreed(self) -> AgreedPrice:
        """Return the price that was agreed."""
        return AgreedPrice(self.quote, self.most, self.currency)

    @property
    def contested_in_words(self) -> str:
        """Describe the contested bill to a person; empty when the bill is not contested."""
        if self.claim is None:
            return ""
        billed = Bill(self.charge, self.contested)
        return describe_contest(self.title, self.provider, self.claim, self.agreed, billed)

    @property
    def has_outputs_to_settle(self) -> bool:
        """Tell whether the provider is done and its outputs are still to be fetched."""
        return bool(self.outputs) and self.state not in (OrderState.SUCCEEDED, OrderState.FAILED, OrderState.CANCELLED)


def order_of(row: sa.Row[Any]) -> Order:
    """Read an order from its row."""
    fields = dict(row._mapping)
    fields.pop("workspace_id")
    for name in ("inputs", "outputs", "object_ids"):
        fields[name] = tuple(fields[name])
    fields["state"] = OrderState(fields["state"])
    fields["contested"] = None if fields["contested"] is None else Contest(fields["contested"])
    return Order(**fields)


def get_order(scope: Scope, order_id: str) -> Order:
    """Return an order; raises NotFoundError."""
    row = scope.first(scope.select(orders).where(orders.c.id == order_id))
    if row is None:
        raise NotFoundError(f"no generation {order_id[:80]} in this workspace")
    return order_of(row)


def find_order_by_key(scope: Scope, key: str) -> Order | None:
    """Return the order with this key, if there is one."""
    row = scope.first(scope.select(orders).where(orders.c.key == key))
    return None if row is None else order_of(row)


def list_call_orders(scope: Scope, call_id: str) -> list[Order]:
    """Return the order of a call and those approved in its place at a new price (`price_change`), oldest first."""
    of_call = sa.or_(orders.c.key == call_id, orders.c.key.startswith(f"{call_id}:", autoescape=True))
    query = scope.select(orders).where(of_call).order_by(orders.c.created_at, orders.c.key)
    return [order_of(row) for row in scope.rows(query)]


def find_order_by_job(scope: Scope, provider: str, upstream_id: str) -> Order | None:
    """Return the first order that has this job of a provider, if there is one."""
    query = scope.select(orders).where(orders.c.provider == provider, orders.c.upstream_id == upstream_id)
    row = scope.first(query.order_by(orders.c.created_at).limit(1))
    return None if row is None else order_of(row)


def list_recent_orders(scope: Scope, task_id: str, limit: int) -> list[Order]:
    """Return the task's newest orders, oldest first; those of one decision in the order of their calls."""
    return [order_of(row) for row in reversed(scope.rows(_NEWEST_OF_TASK, task=task_id, most=limit))]


@dataclass(frozen=True)
class OrderTotal:
    """How many orders of a task are in a state, and what they were charged in all."""

    task_id: str
    state: OrderState
    count: int
    charged: Decimal
    currency: str


def count_recent_orders(scope: Scope) -> list[OrderTotal]:
    """Count the orders of the tasks with the newest activity, by task and state."""
    recent = scope.select(tasks.c.id).order_by(tasks.c.updated_at.desc(), tasks.c.id.desc()).limit(_TASKS_COUNTED)
    query = scope.select(orders.c.task_id, orders.c.state, orders.c.charge, orders.c.currency).where(
        orders.c.task_id.in_([row.id for row in scope.rows(recent)])
    )
    found: dict[tuple[str, str], OrderTotal] = {}
    for row in scope.rows(query.order_by(orders.c.task_id, orders.c.created_at)):
        key = (row.task_id, row.state)
        before = found.get(key, OrderTotal(row.task_id, OrderState(row.state), 0, Decimal(0), row.currency))
        found[key] = replace(before, count=before.count + 1, charged=before.charged + (row.charge or 0))
    return list(found.values())


def list_open_order_ids(scope: Scope, task_id: str) -> list[str]:
    """Return the ids of the task's orders that have not ended, in the order of their calls."""
    query = scope.select(orders.c.id).where(orders.c.task_id == task_id, orders.c.state.in_(OPEN_ORDER_STATES))
    return [row.id for row in scope.rows(query.order_by(orders.c.created_at, orders.c.call_id))]


def list_orders(
    scope: Scope,
    *,
    task_id: str | None = None,
    states: Sequence[OrderState] = (),
    ids: Sequence[str] = (),
    limit: int = 50,
) -> list[Order]:
    """Return orders, oldest first; those of one decision in the order of their calls."""
    query = scope.select(orders)
    if task_id is not None:
        query = query.where(orders.c.task_id == task_id)
    if states:
        query = query.where(orders.c.state.in_(states))
    if ids:
        query = query.where(orders.c.id.in_(ids))
    return [order_of(row) for row in scope.rows(query.order_by(orders.c.created_at, orders.c.call_id).limit(limit))]
