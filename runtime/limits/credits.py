"""Credits: what a workspace may spend. An order's amount is reserved, then settled or released, once.

Entries are only ever added. Code that reserves or changes money locks the budget's row first (`lock_budget`), so that
two orders never spend the same credit. That row also holds the sums of the entries and of the reservations. They
change only in the transaction that adds an entry, so no query has to add up everything that was ever spent.
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
from core.sql import statements
from core.tables import workspaces
from runtime.tables import budgets, entries, reservations, tasks

ZERO = Decimal(0)
# What a reservation counts for: its charge when settled, its amount while held, nothing when released.
_WEIGHT: sa.ColumnElement[Decimal] = sa.case(
    (reservations.c.state == "settled", reservations.c.charge),
    (reservations.c.state == "held", reservations.c.amount),
    else_=sa.literal(ZERO, reservations.c.amount.type),
)
_ZONE = sa.select(workspaces.c.timezone).where(workspaces.c.id == budgets.c.workspace_id).scalar_subquery()
_BUDGET = statements.select(budgets, _ZONE.label("zone"))
_LOCK = statements.select(budgets.c.currency).with_for_update()
# Reservations of a task with a plan budget count against the plan, and not against the day as well.
_PLANNED = sa.select(tasks.c.id).where(
    tasks.c.workspace_id == reservations.c.workspace_id,
    tasks.c.id == reservations.c.task_id,
    tasks.c.plan_budget.is_not(None),
)
_SUM = sa.func.sum(_WEIGHT, type_=reservations.c.amount.type).label("amount")
_FREE_SPENT = statements.select(_SUM).where(
    reservations.c.day == sa.bindparam("that_day"), reservations.c.card_id.is_(None), ~sa.exists(_PLANNED)
)
_PLAN_USED = statements.select(_SUM, sa.func.count(reservations.c.order_id).label("orders")).where(
    reservations.c.task_id == sa.bindparam("task"), reservations.c.state != "released"
)
_SKILL_USED = statements.select(_SUM).where(
    reservations.c.day == sa.bindparam("that_day"), reservations.c.skill_id == sa.bindparam("skill")
)
_ADD_TO_SUMS = statements.update(budgets).values(
    balance=budgets.c.balance + sa.bindparam("more_balance", type_=budgets.c.balance.type),
    reserved=budgets.c.reserved + sa.bindparam("more_reserved", type_=budgets.c.reserved.type),
)


@dataclass(frozen=True)
class Budget:
    """The budget of a workspace. `balance` is the credit granted less that charged; `reserved` of it is held.

    `spent_today` is what today's orders under the free allowance cost, held amounts included. The day is the date in
    the workspace's time zone.
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
class PlanUse:
    """Amount and number of orders that a task has used of its plan."""

    amount: Decimal
    orders: int


@dataclass(frozen=True)
class Overcharge:
    """Quote and charge of an order; `contested` says what its provider billed, where that is not what is charged."""

    quote: Decimal
    charge: Decimal
    contested: str | None = None


@dataclass(frozen=True)
class Reservation:
    """A reservation. `state` is held, settled or released; `card_id` is the card that authorised the amount, if any.

    A question that a skill asks the model is an order too: it has a `skill_id` and no `task_id`. `contested` says what
    was billed, where that is not what is charged.
    """

    order_id: str
    task_id: str | None
    skill_id: str | None
    amount: Decimal
    charge: Decimal | None
    contested: str | None
    state: str
    card_id: str | None
    day: date
    created_at: datetime
    ended_at: datetime | None


def lock_budget(scope: Scope) -> Budget:
    """Return the budget with its row locked until the transaction ends."""
    if scope.first(_LOCK) is None:
        raise NotFoundError("this workspace has no budget; `loopwright budget` sets one")
    return read_budget(scope)


def read_budget(scope: Scope) -> Budget:
    """Read the budget. Raises NotFoundError where the workspace has none."""
    row = scope.first(_BUDGET)
    if row is None:
        raise NotFoundError("this workspace has no budget; `loopwright budget` sets one")
    spent = scope.scalar(_FREE_SPENT, that_day=scope.now.astimezone(ZoneInfo(row.zone)).date())
    return Budget(
        currency=row.currency,
        balance=row.balance,
        reserved=row.reserved,
        free_per_operation=row.free_per_operation,
        free_per_day=row.free_per_day,
        spent_today=spent if isinstance(spent, Decimal) else ZERO,
    )


def read_local_date(scope: Scope) -> date:
    """Return today's date in the workspace's time zone, by which its daily allowances are counted."""
    return scope.now.astimezone(scope.read_time_zone()).date()


def read_plan_use(scope: Scope, task_id: str) -> PlanUse:
    """Add up what a task has cost or holds, with a card or without; released amounts do not count."""
    row = scope.first(_PLAN_USED, task=task_id)
    return PlanUse(ZERO, 0) if row is None else PlanUse(row.amount or ZERO, row.orders)


def read_skill_spending(scope: Scope, skill_id: str, day: date) -> Decimal:
    """Add up what a skill has cost or holds on a day, with a card or without."""
    return scope.scalar(_SKILL_USED, that_day=day, skill=skill_id) or ZERO


def find_overcharge(scope: Scope, task_id: str) -> Overcharge | None:
    """Return the task's last charge above quote, or contested bill; None once a card has authorised a later order."""
    of_task = scope.select(reservations).where(reservations.c.task_id == task_id)
    above = sa.and_(reservations.c.state == "settled", reservations.c.charge > reservations.c.amount)
    over = scope.first(
        of_task.where(sa.or_(above, reservations.c.contested.is_not(None)), reservations.c.ended_at.is_not(None))
        .order_by(reservations.c.ended_at.desc())
        .limit(1)
    )
    if over is None:
        return None
    since = of_task.where(reservations.c.card_id.is_not(None), reservations.c.created_at >= over.ended_at)
    return (
        None
        if scope.first(since.limit(1)) is not None
        else Overcharge(over.amount, over.charge or ZERO, over.contested)
    )


def grant_credit(scope: Scope, amount: Decimal, cause: str) -> bool:
    """Add credit, once per cause; a negative amount takes it back."""
    currency = lock_budget(scope).currency
    return _add_entry(scope, "grant", amount, currency, cause, None, balance=amount)


def reserve_credit(
    scope: Scope,
    order_id: str,
    amount: Decimal,
    *,
    task_id: str | None,
    card_id: str | None = None,
    skill_id: str | None = None,
) -> bool:
    """Hold an amount for an order, in the transaction that admits it; return False when the order holds one already.

    `card_id` names the card that authorised exactly this amount, which then does not use the free allowance.
    Raises RefusedError when the balance does not cover it.
    """
    if amount < ZERO:
        raise InvalidError(f"an order cannot cost {amount}")
    budget = lock_budget(scope)
    if find_reservation(scope, order_id) is not None:
        return False
    if amount > budget.available:
        raise RefusedError(
            f"needs {amount} {budget.currency} but only {budget.available} of {budget.balance} is free; "
            "add credit to the budget"
        )
    scope.insert(
        reservations,
        order_id=order_id,
        task_id=task_id,
        skill_id=skill_id,
        amount=amount,
        state="held",
        card_id=card_id,
        day=read_local_date(scope),
        created_at=scope.now,
    )
    return _add_entry(scope, "reserve", amount, budget.currency, order_id, order_id, reserved=amount)


def settle_reservation(scope: Scope, order_id: str, charge: Decimal) -> bool:
    """Charge an order, once; return False when it was charged before or has no reservation.

    A charge above the reserved amount counts against the day and the plan; the caller limits it. An order whose
    reservation was released, because its result came late, is charged all the same.
    """
    if charge < ZERO:
        raise InvalidError(f"an order cannot be charged {charge}")
    currency = lock_budget(scope).currency
    before = find_reservation(scope, order_id)
    if before is None or not _end_reservation(scope, order_id, ("held", "released"), state="settled", charge=charge):
        return False
    freed = before.amount if before.state == "held" else ZERO
    return _add_entry(scope, "settle", charge, currency, order_id, order_id, balance=-charge, reserved=-freed)


def note_contested_bill(scope: Scope, order_id: str, billed: str) -> None:
    """Note what an order's provider billed (`billed`) where that is not what is charged."""
    scope.change(scope.update(reservations).where(reservations.c.order_id == order_id).values(contested=billed[:120]))


def release_reservation(scope: Scope, order_id: str) -> bool:
    """Release what is held for an order; return False when nothing is held."""
    currency = lock_budget(scope).currency
    held = find_reservation(scope, order_id)
    if held is None or not _end_reservation(scope, order_id, ("held",), state="released"):
        return False
    return _add_entry(scope, "release", held.amount, currency, order_id, order_id, reserved=-held.amount)


def find_reservation(scope: Scope, order_id: str) -> Reservation | None:
    row = scope.first(scope.select(reservations).where(reservations.c.order_id == order_id))
    return None if row is None else _reservation_from_row(row)


def list_reservations_of_card(scope: Scope, card_id: str) -> list[Reservation]:
    """List the reservations that a card has authorised."""
    return [
        _reservation_from_row(row)
        for row in scope.rows(scope.select(reservations).where(reservations.c.card_id == card_id))
    ]


def _reservation_from_row(row: sa.Row[Any]) -> Reservation:
    fields = dict(row._mapping)
    fields.pop("workspace_id")
    return Reservation(**fields)


def _end_reservation(scope: Scope, order_id: str, was: tuple[str, ...], **values: object) -> bool:
    ended = (
        scope.update(reservations)
        .where(reservations.c.order_id == order_id, reservations.c.state.in_(was))
        .values(ended_at=scope.now, **values)
    )
    return scope.change(ended) == 1


def _add_entry(
    scope: Scope,
    kind: str,
    amount: Decimal,
    currency: str,
    cause: str,
    order_id: str | None,
    *,
    balance: Decimal = ZERO,
    reserved: Decimal = ZERO,
) -> bool:
    """Add an entry and change the sums by it; return False, changing nothing, when the cause has an entry already."""
    added = scope.insert_new(
        entries,
        id=scope.ids.new("entry"),
        kind=kind,
        amount=amount,
        currency=currency,
        cause=cause,
        order_id=order_id,
        at=scope.now,
    )
    if added:
        scope.change(_ADD_TO_SUMS, more_balance=balance, more_reserved=reserved)
    return added
