"""What the guard says to which facts, by table."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from core.tools import Effect
from runtime.limits.credits import Budget, Overcharge
from runtime.limits.guard import CallAllowed, CallFacts, CallRefused, NeedsConfirmation, NeedsQuote, judge_call
from runtime.tasks.tasks import Plan

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
BUDGET = Budget("USD", Decimal(100), Decimal(0), Decimal("0.30"), Decimal("2.00"), Decimal(0))
PAID = CallFacts(
    effect=Effect.PAID,
    role="member",
    asked_by="person",
    task_status="active",
    at_checkpoint=False,
    amount=Decimal("0.04"),
    currency="USD",
    budget=BUDGET,
    plan=None,
    plan_spent=Decimal(0),
    plan_orders=0,
    overcharge=None,
    kind="image",
    now=NOW,
)


def facts(effect: Effect = Effect.PAID, **values: object) -> CallFacts:
    budget = {name: values.pop(name) for name in list(values) if hasattr(BUDGET, name)}
    return replace(PAID, effect=effect, budget=replace(BUDGET, **budget), **values)  # type: ignore[arg-type]


@pytest.mark.parametrize("effect", [Effect.READ, Effect.WRITE, Effect.PAID])
def test_what_is_within_every_limit_is_allowed(effect: Effect) -> None:
    assert judge_call(facts(effect)) == CallAllowed()


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        (facts(role=None), "permission"),
        (facts(Effect.READ, role=None), "permission"),
        (facts(role="viewer"), "permission"),
        (facts(Effect.WRITE, role="viewer"), "permission"),
        (facts(Effect.IRREVERSIBLE, role="viewer"), "permission"),
        (facts(task_status="stopped"), "task"),
        (facts(task_status="archived"), "task"),
        (facts(task_status="paused"), "task"),
        (facts(Effect.WRITE, task_status="stopped"), "task"),
        (facts(task_status=None), "task"),
        (facts(at_checkpoint=True), "autonomy"),
        (facts(Effect.WRITE, at_checkpoint=True), "autonomy"),
        (facts(currency="EUR"), "currency"),
        # The first refusal counts: permission before autonomy before budget.
        (facts(role="viewer", task_status="stopped", at_checkpoint=True, amount=Decimal(9)), "permission"),
        (facts(task_status="stopped", at_checkpoint=True, amount=Decimal(9)), "task"),
        (facts(at_checkpoint=True, amount=Decimal(9), asked_by="program"), "autonomy"),
    ],
)
def test_refusals(given: CallFacts, rule: str) -> None:
    verdict = judge_call(given)
    assert isinstance(verdict, CallRefused)
    assert verdict.rule == rule
    assert verdict.reason


@pytest.mark.boundary(36, 41)
@pytest.mark.parametrize(
    ("given", "limit"),
    [
        (facts(amount=Decimal("0.30")), None),
        (facts(amount=Decimal("0.300001")), "operation"),
        (facts(spent_today=Decimal("1.96")), None),
        (facts(spent_today=Decimal("1.97")), "day"),
        (facts(plan=Plan(Decimal("20.00")), plan_spent=Decimal("19.60"), amount=Decimal("0.90")), "plan"),
        (facts(plan=Plan(Decimal("20.00")), plan_spent=Decimal("19.60"), amount=Decimal("0.40")), None),
        # A plan replaces the free allowance in both directions: it allows more, and it is a ceiling.
        (facts(plan=Plan(Decimal(20)), amount=Decimal(5), spent_today=Decimal(2)), None),
        (facts(plan=Plan(Decimal(0)), amount=Decimal("0.01")), "plan"),
        (facts(plan=Plan(Decimal(1)), plan_spent=Decimal("1.20"), amount=Decimal("0.01")), "plan"),
        (facts(balance=Decimal("0.10"), reserved=Decimal("0.07")), "balance"),
        (facts(balance=Decimal("0.10"), reserved=Decimal("0.06")), None),
        (facts(asked_by="program", amount=Decimal("0.01")), "program"),
        (facts(plan=Plan(Decimal(20)), overcharge=Overcharge(Decimal("0.04"), Decimal("0.09"))), "overcharge"),
        (facts(asked_by="program", plan=Plan(Decimal(20))), "program"),
        (facts(asked_by="agent"), None),
    ],
)
def test_above_a_limit_a_person_is_asked(given: CallFacts, limit: str | None) -> None:
    verdict = judge_call(given)
    if limit is None:
        assert verdict == CallAllowed()
    else:
        assert isinstance(verdict, NeedsQuote)
        assert verdict.limit == limit


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (facts(amount=Decimal("0.5")), "costs 0.50 USD; up to 0.30 USD goes without asking"),
        (facts(amount=Decimal("0.1"), spent_today=Decimal(2)), "of today's 2.00 USD without asking 2.00 USD is used"),
        (facts(balance=Decimal("0.1"), amount=Decimal("0.2")), "needs 0.20 USD but only 0.10 USD"),
        (
            facts(plan=Plan(Decimal("1.5")), amount=Decimal(2)),
            "needs 2.00 USD but only 1.50 USD of the plan's",
        ),
    ],
)
def test_amounts_are_said_as_the_card_shows_them(given: CallFacts, said: str) -> None:
    verdict = judge_call(given)

    assert isinstance(verdict, NeedsQuote)
    assert said in verdict.reason


@pytest.mark.boundary(42)
@pytest.mark.parametrize("amount", [Decimal(0), Decimal(9)])
@pytest.mark.parametrize("at_checkpoint", [False, True])
def test_a_call_that_cannot_be_undone_is_always_confirmed(amount: Decimal, at_checkpoint: bool) -> None:
    given = facts(Effect.IRREVERSIBLE, amount=amount, at_checkpoint=at_checkpoint, plan=Plan(Decimal(100)))
    assert judge_call(given) == NeedsConfirmation()


def test_facts_after_an_admitted_act_count_it() -> None:
    spent = facts().after(Decimal("0.25"))
    assert (spent.budget.spent_today, spent.budget.available) == (Decimal("0.25"), Decimal("99.75"))
    planned = facts(plan=Plan(Decimal(1))).after(Decimal("0.25"))
    assert (planned.budget.spent_today, planned.plan_spent) == (Decimal(0), Decimal("0.25"))


LATER, BEFORE = NOW + timedelta(hours=1), NOW


@pytest.mark.boundary(36)
@pytest.mark.parametrize(
    ("plan", "used", "reason"),
    [
        (Plan(Decimal(1), kinds=("image", "video"), count=2, expires_at=LATER), 1, None),
        (Plan(Decimal(1), kinds=("video",)), 0, "covers video and this is image"),
        (Plan(Decimal(1), count=2), 2, "covers 2 orders and 2 are placed"),
        (Plan(Decimal(1), count=0), 0, "covers 0 orders"),
        (Plan(Decimal(1), expires_at=BEFORE), 0, "approved until 2026-03-02 09:00 UTC"),
        (Plan(Decimal("0.03"), kinds=("image",), count=9, expires_at=LATER), 0, "only 0.03 USD of the plan's 0.03 USD"),
    ],
)
def test_outside_the_plan_a_person_is_asked_with_the_difference(plan: Plan, used: int, reason: str | None) -> None:
    verdict = judge_call(facts(plan=plan, plan_orders=used))
    if reason is None:
        assert verdict == CallAllowed()
    else:
        assert isinstance(verdict, NeedsQuote)
        assert (verdict.limit, reason in verdict.reason) == ("plan", True), verdict
