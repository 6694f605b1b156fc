"""Credits: what a workspace may spend. A reservation is held for an order, then settled or released, once.

Entries are only ever added. Whoever reserves or changes money takes the budget's row first (`lock`), so that two
orders never see the same last unit.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import sqlalchemy as sa

from core.database import Scope
from core.errors import InvalidError, NotFoundError, RefusedError
from core.tables import workspaces
from runtime.tables import budgets, entries, reservations, tasks

ZERO = Decimal(0)


@dataclass(frozen=True)
class Budget:
    """`balance` is what was granted less what was charged; `reserved` is held of it for open orders.

    `spent_today` is what today's acts under the free allowance cost, held amounts included; the day is the local
    date of the workspace's time zone.
    """

    currency: str
    balance: Decimal
    reserved: Decimal
    free_per_operation: Decimal
    free_per_day: Decimal
    spent_today: Decimal

    @property
    def available(self) -> Decimal:
        return self.balance - self.reserved


@dataclass(frozen=True)
class Used:
    """What a task has used of its plan."""

    amount: Decimal
    orders: int


@dataclass(frozen=True)
class Reservation:
    """`state` is held, settled or released; `card_id` is the card that authorised the amount, where one did."""

    order_id: str
    task_id: str | None
    amount: Decimal
    charge: Decimal | None
    state: str
    card_id: str | None
    day: date
    created_at: datetime
    ended_at: datetime | None


def lock(scope: Scope) -> Budget:
    """The budget, with its row locked until the end of the transaction."""
    query = scope.select(budgets.c.currency).with_for_update()
    if scope.first(query) is None:
        raise NotFoundError("this workspace has no budget; `loopwright budget` sets one")
    return budget(scope)


def budget(scope: Scope) -> Budget:
    """What is there, what is held and what today's free acts cost."""
    row = scope.first(scope.select(budgets))
    if row is None:
        raise NotFoundError("this workspace has no budget; `loopwright budget` sets one")
    return Budget(
        currency=row.currency,
        balance=_balance(scope),
        reserved=_sum(scope, reservations.c.amount, reservations.c.state == "held"),
        free_per_operation=row.free_per_operation,
        free_per_day=row.free_per_day,
        spent_today=_free_spent(scope, today(scope)),
    )


def zone(scope: Scope) -> ZoneInfo:
    """The workspace's time zone."""
    name = sa.select(workspaces.c.timezone).where(workspaces.c.id == budgets.c.workspace_id).scalar_subquery()
    return ZoneInfo(scope.scalar(scope.select(name.label("zone"), budgets.c.currency)))


def today(scope: Scope) -> date:
    """The date in the workspace's zone: the day that its allowances are counted by."""
    return scope.now.astimezone(zone(scope)).date()


def plan_used(scope: Scope, task_id: str) -> Used:
    """All that a task has cost or holds, whoever authorised it; what was given back counts no longer."""
    counted = (reservations.c.task_id == task_id, reservations.c.state != "released")
    orders = scope.scalar(scope.select(sa.func.count(reservations.c.order_id).label("n")).where(*counted))
    return Used(_sum(scope, _weight(), *counted), int(orders or 0))


def grant(scope: Scope, amount: Decimal, cause: str) -> bool:
    """Add credit (or take it back, below zero), once per cause."""
    currency = lock(scope).currency
    return _enter(scope, "grant", amount, currency, cause, None)


def reserve(scope: Scope, order_id: str, amount: Decimal, *, task_id: str | None, card_id: str | None = None) -> bool:
    """Hold an amount for an order, in the transaction that admits it; False when the order holds one already.

    `card_id` names the card that authorised exactly this amount; such an amount uses no free allowance.
    Raises RefusedError when the balance does not cover it.
    """
    if amount < ZERO:
        raise InvalidError(f"an order cannot cost {amount}")
    now = lock(scope)
    if get(scope, order_id) is not None:
        return False
    if amount > now.available:
        raise RefusedError(
            f"needs {amount} {now.currency} but only {now.available} of {now.balance} is free; add credit to the budget"
        )
    scope.insert(
        reservations,
        order_id=order_id,
        task_id=task_id,
        amount=amount,
        state="held",
        card_id=card_id,
        day=today(scope),
        created_at=scope.now,
    )
    return _enter(scope, "reserve", amount, now.currency, order_id, order_id)


def settle(scope: Scope, order_id: str, charge: Decimal) -> bool:
    """Charge an order, once; False when it was charged before.

    A charge above the reserved amount is recorded as it is, and counts against the day and the plan. An order whose
    reservation was released (its result came late) is charged all the same.
    """
    if charge < ZERO:
        raise InvalidError(f"an order cannot be charged {charge}")
    currency = lock(scope).currency
    if not _end(scope, order_id, ("held", "released"), state="settled", charge=charge):
        return False
    return _enter(scope, "settle", charge, currency, order_id, order_id)


def release(scope: Scope, order_id: str) -> bool:
    """Give back what is held for an order; False when nothing is held."""
    currency = lock(scope).currency
    held = get(scope, order_id)
    if held is None or not _end(scope, order_id, ("held",), state="released"):
        return False
    return _enter(scope, "release", held.amount, currency, order_id, order_id)


def get(scope: Scope, order_id: str) -> Reservation | None:
    row = scope.first(scope.select(reservations).where(reservations.c.order_id == order_id))
    return None if row is None else _reservation(row)


def authorised_by(scope: Scope, card_id: str) -> list[Reservation]:
    """What a card has authorised already."""
    return [
        _reservation(row) for row in scope.rows(scope.select(reservations).where(reservations.c.card_id == card_id))
    ]


def _reservation(row: sa.Row[Any]) -> Reservation:
    fields = dict(row._mapping)
    fields.pop("workspace_id")
    return Reservation(**fields)


def _weight() -> sa.ColumnElement[Decimal]:
    """What a reservation counts for: its charge when settled, its amount while held, nothing when released."""
    return sa.case(
        (reservations.c.state == "settled", reservations.c.charge),
        (reservations.c.state == "held", reservations.c.amount),
        else_=sa.literal(ZERO, reservations.c.amount.type),
    )


def _free_spent(scope: Scope, day: date) -> Decimal:
    # What belongs to a task with a plan budget counts against the plan, and not a second time against the day.
    planned = sa.select(tasks.c.id).where(
        tasks.c.workspace_id == scope.workspace_id,
        tasks.c.id == reservations.c.task_id,
        tasks.c.plan_budget.is_not(None),
    )
    return _sum(scope, _weight(), reservations.c.day == day, reservations.c.card_id.is_(None), ~sa.exists(planned))


def _balance(scope: Scope) -> Decimal:
    signed = sa.case(
        (entries.c.kind == "grant", entries.c.amount),
        (entries.c.kind == "settle", -entries.c.amount),
        else_=sa.literal(ZERO, entries.c.amount.type),
    )
    total = scope.scalar(scope.select(sa.func.sum(signed, type_=entries.c.amount.type).label("sum")))
    return total if isinstance(total, Decimal) else ZERO


def _sum(scope: Scope, what: sa.ColumnElement[Any], *where: sa.ColumnElement[bool]) -> Decimal:
    total = scope.scalar(scope.select(sa.func.sum(what, type_=reservations.c.amount.type).label("sum")).where(*where))
    return total if isinstance(total, Decimal) else ZERO


def _end(scope: Scope, order_id: str, was: tuple[str, ...], **values: object) -> bool:
    ended = (
        scope.update(reservations)
        .where(reservations.c.order_id == order_id, reservations.c.state.in_(was))
        .values(ended_at=scope.now, **values)
    )
    return scope.change(ended) == 1


def _enter(scope: Scope, kind: str, amount: Decimal, currency: str, cause: str, order_id: str | None) -> bool:
    return scope.insert_new(
        entries,
        id=scope.ids.new("entry"),
        kind=kind,
        amount=amount,
        currency=currency,
        cause=cause,
        order_id=order_id,
        at=scope.now,
    )
