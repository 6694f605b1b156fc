"""The budget: what the workspace may spend."""

from __future__ import annotations

from typing_extensions import TypedDict

from app.web.http.authorization import require_person
from app.web.http.dependencies import WebDependencies
from app.web.http.endpoints import Endpoints
from app.web.http.inputs import AmountInput, Body
from app.web.presenters.values import Amount, plain_amount
from core.database import Scope
from core.identity import Speaker
from runtime.limits import credits
from runtime.tables import budgets


class PutBudget(Body):
    """Fields left out do not change."""

    balance: AmountInput | None = None
    free_per_operation: AmountInput | None = None
    free_per_day: AmountInput | None = None


class BudgetShape(TypedDict):
    currency: str
    balance: Amount
    free_per_operation: Amount
    free_per_day: Amount
    spent_today: Amount
    reserved: Amount


def budget_api(dependencies: WebDependencies) -> Endpoints:
    endpoints = Endpoints(dependencies, "budget_api")

    @endpoints.reads("/api/v1/budget", "Balance, free allowances, today's spending")
    def get_budget(scope: Scope, speaker: Speaker) -> BudgetShape:
        return budget_shape(scope)

    @endpoints.acts("/api/v1/budget", "Set parts of the budget", body=PutBudget, method="PUT", scope="admin")
    def put_budget(scope: Scope, speaker: Speaker, body: PutBudget) -> BudgetShape:
        require_person(speaker, "say what may be spent")
        now = credits.lock_budget(scope)
        if body.balance is not None and body.balance != now.balance:
            credits.grant_credit(scope, body.balance - now.balance, f"api:{scope.ids.new('cause')}")
        by_name = {name: getattr(body, name) for name in ("free_per_operation", "free_per_day")}
        given = {name: value for name, value in by_name.items() if value is not None}
        if given:
            scope.change(scope.update(budgets).values(**given))
        return budget_shape(scope)

    return endpoints


def budget_shape(scope: Scope) -> BudgetShape:
    now = credits.read_budget(scope)
    return {
        "currency": now.currency,
        "balance": plain_amount(now.balance),
        "free_per_operation": plain_amount(now.free_per_operation),
        "free_per_day": plain_amount(now.free_per_day),
        "spent_today": plain_amount(now.spent_today),
        "reserved": plain_amount(now.reserved),
    }
