"""Guard: decide whether a call may act, by permission, then an open checkpoint, then budget; the first refusal counts.

It decides by stored facts. The model's words are not among them: a claim that something was approved has no effect.
The rule called `autonomy` only looks for an open checkpoint card. A task's level of autonomy decides earlier, at the
end of a turn, whether such a card is opened (`runtime/turns/proceed.py`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from typing import Literal, assert_never

from core.amounts import format_amount
from core.database import Scope
from core.errors import NotFoundError
from core.tables import roles
from core.tools import Effect
from runtime.inbox import inbox
from runtime.limits import credits
from runtime.limits.credits import Budget, Overcharge, PlanUse
from runtime.statuses import RESTING_TASK_STATUSES, CardKind, CardState
from runtime.tables import cards
from runtime.tasks import tasks
from runtime.tasks.tasks import Plan, Task

GuardRule = Literal["permission", "task", "autonomy", "currency"]
GuardLimit = Literal["program", "overcharge", "operation", "day", "plan", "balance"]


@dataclass(frozen=True)
class CallFacts:
    """Stored facts about the person, the task and the budget, at the time `now`.

    `amount` is the quote of a paid call, else zero, and `kind` what it makes. `plan_spent` and `plan_orders` are what
    the task has used of its plan.
    """

    effect: Effect
    role: str | None
    asked_by: str
    task_status: str | None
    at_checkpoint: bool
    amount: Decimal
    currency: str
    budget: Budget
    plan: Plan | None
    plan_spent: Decimal
    plan_orders: int
    overcharge: Overcharge | None
    kind: str
    now: datetime

    def after(self, amount: Decimal) -> CallFacts:
        """Return the facts as they are once an order of this amount has been admitted without a card."""
        budget = replace(self.budget, reserved=self.budget.reserved + amount)
        if self.plan is None:
            budget = replace(budget, spent_today=budget.spent_today + amount)
        return replace(self, budget=budget, plan_spent=self.plan_spent + amount, plan_orders=self.plan_orders + 1)


@dataclass(frozen=True)
class CallAllowed:
    """The call may act now."""


@dataclass(frozen=True)
class NeedsQuote:
    """A person must approve the amount first; `limit` is the first limit it exceeds, `reason` explains it to them."""

    limit: GuardLimit
    reason: str


@dataclass(frozen=True)
class NeedsConfirmation:
    """A person must confirm first, at every level of autonomy, since the call cannot be undone."""


@dataclass(frozen=True)
class CallRefused:
    """The call may not act; `rule` is the first rule that refused it."""

    rule: GuardRule
    reason: str


GuardVerdict = CallAllowed | NeedsQuote | NeedsConfirmation | CallRefused


def judge_call(facts: CallFacts) -> GuardVerdict:
    """Decide by permission, then an open checkpoint, then budget, over the facts alone."""
    return _refuse_by_facts(facts) or refuse_at_checkpoint(facts.effect, facts.at_checkpoint) or _judge_effect(facts)


def refuse_by_role(effect: Effect, role: str | None) -> CallRefused | None:
    """Apply the rule of permission by itself: refuse what a role may not do; None when it may."""
    if role is None:
        return CallRefused("permission", "the person has no role in this workspace")
    if effect is not Effect.READ and role == "viewer":
        return CallRefused("permission", "a viewer may look but not change or order anything")
    return None


def has_open_checkpoint(scope: Scope, task_id: str | None) -> bool:
    """Tell whether a checkpoint card of the task waits for its answer."""
    held = scope.select(cards.c.id).where(
        cards.c.task_id == task_id, cards.c.kind == CardKind.CHECKPOINT, cards.c.state == CardState.OPEN
    )
    return task_id is not None and scope.first(held.limit(1)) is not None


def refuse_at_checkpoint(effect: Effect, held: bool) -> CallRefused | None:
    """Apply the rule of autonomy by itself: refuse calls that change or cost something while a checkpoint is open."""
    # A call that cannot be undone is not refused here: it needs a person's confirmation anyway.
    if effect in (Effect.WRITE, Effect.PAID) and held:
        return CallRefused("autonomy", "a checkpoint card is open; wait for the person's answer")
    return None


def read_role(scope: Scope, person_id: str) -> str | None:
    """Read the person's role in the workspace; None where they have none."""
    role: str | None = scope.scalar(scope.select(roles.c.role).where(roles.c.person_id == person_id))
    return role


def _refuse_by_facts(facts: CallFacts) -> CallRefused | None:
    """Refuse by the rules of permission and of the task; None where both allow the call."""
    if refused := refuse_by_role(facts.effect, facts.role):
        return refused
    if facts.effect is Effect.READ:
        return None
    if facts.task_status in RESTING_TASK_STATUSES:
        return CallRefused("task", f"the task is {facts.task_status}; nothing new is started in it")
    if facts.effect is Effect.PAID and facts.task_status is None:
        return CallRefused("task", "Main orders nothing; paid work belongs to a task")
    return None


def _judge_effect(facts: CallFacts) -> GuardVerdict:
    match facts.effect:
        case Effect.READ | Effect.WRITE:
            return CallAllowed()
        case Effect.IRREVERSIBLE:
            return NeedsConfirmation()
        case Effect.PAID:
            return _judge_paid(facts)
        case _:
            assert_never(facts.effect)


def _judge_paid(facts: CallFacts) -> GuardVerdict:
    amount, unit, budget = facts.amount, facts.currency, facts.budget
    if unit != budget.currency:
        return CallRefused(
            "currency", f"the price is in {unit} and the budget in {budget.currency}; nothing converts them"
        )
    if facts.asked_by == "program":
        return NeedsQuote("program", "a program asked for this work, so each paid act is confirmed by a person")
    if facts.overcharge is not None:
        over = facts.overcharge
        last = (
            f"the last order cost {format_amount(over.charge, unit)} where {format_amount(over.quote, unit)} was quoted"
        )
        if over.contested is not None:
            last += f", and {over.contested} was billed, which is contested"
        return NeedsQuote("overcharge", f"{last}, so the next one is asked about")
    if above := _find_exceeded_limit(facts):
        return above
    if amount > budget.available:
        needed, left = format_amount(amount, unit), format_amount(budget.available, unit)
        return NeedsQuote("balance", f"needs {needed} but only {left} of the balance is free")
    return CallAllowed()


def _find_exceeded_limit(facts: CallFacts) -> NeedsQuote | None:
    """Return why the call exceeds the task's plan, or the free allowance if there is no plan; None if it does not."""
    amount, unit, budget = facts.amount, facts.currency, facts.budget
    if facts.plan is not None:
        outside = _explain_outside(facts.plan, facts)
        return None if outside is None else NeedsQuote("plan", outside)
    if amount > budget.free_per_operation:
        free = format_amount(budget.free_per_operation, unit)
        return NeedsQuote("operation", f"costs {format_amount(amount, unit)}; up to {free} goes without asking")
    if amount > budget.free_per_day - budget.spent_today:
        used, free = format_amount(budget.spent_today, unit), format_amount(budget.free_per_day, unit)
        return NeedsQuote(
            "day", f"costs {format_amount(amount, unit)}; of today's {free} without asking {used} is used"
        )
    return None


def _explain_outside(plan: Plan, facts: CallFacts) -> str | None:
    """Return why the plan does not cover a call; None where it does."""
    if plan.expires_at is not None and plan.expires_at <= facts.now:
        return f"the plan was approved until {plan.expires_at:%Y-%m-%d %H:%M} UTC"
    if plan.kinds and facts.kind not in plan.kinds:
        return f"the plan covers {', '.join(plan.kinds)} and this is {facts.kind}"
    if plan.count is not None and facts.plan_orders >= plan.count:
        return f"the plan covers {plan.count} orders and {facts.plan_orders} are placed"
    left = max(plan.amount - facts.plan_spent, Decimal(0))
    if facts.amount > left:
        needed, of_it = format_amount(facts.amount, facts.currency), format_amount(left, facts.currency)
        return f"needs {needed} but only {of_it} of the plan's {format_amount(plan.amount, facts.currency)} is left"
    return None


def gather_call_facts(
    scope: Scope,
    *,
    effect: Effect,
    person_id: str,
    asked_by: str,
    task_id: str | None,
    amount: Decimal = Decimal(0),
    currency: str = "USD",
    kind: str = "",
) -> CallFacts:
    """Read the facts of one call. Before admitting an order, call `credits.lock_budget` in the same transaction.

    A task that a program asked for, or has written to, counts as a program's, even while it works on a person's
    message.
    """
    task = None if task_id is None else _find_task(scope, task_id)
    used = PlanUse(Decimal(0), 0) if task is None else credits.read_plan_use(scope, task.id)
    return CallFacts(
        effect=effect,
        role=read_role(scope, person_id),
        asked_by="program" if task is not None and _is_a_programs(scope, task) else asked_by,
        task_status=None if task is None else task.status,
        at_checkpoint=has_open_checkpoint(scope, task_id),
        amount=amount,
        currency=currency,
        budget=credits.read_budget(scope),
        plan=None if task is None else task.plan,
        plan_spent=used.amount,
        plan_orders=used.orders,
        overcharge=None if task is None else credits.find_overcharge(scope, task.id),
        kind=kind,
        now=scope.now,
    )


def _is_a_programs(scope: Scope, task: Task) -> bool:
    return task.asked_by == "program" or inbox.has_program_spoken(scope, task.id)


def _find_task(scope: Scope, task_id: str) -> Task | None:
    try:
        return tasks.get_task(scope, task_id)
    except NotFoundError:
        return None
