"""Placement of an order: check, price and guard a request, then admit it or ask a person on a card."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import assert_never

from core.database import Scope
from core.errors import LoopwrightError, RefusedError
from core.tools import CallContext, Effect
from generation.approval import card
from generation.approval.admission import admit_order, get_admitted_order
from generation.dependencies import OrderWorks
from generation.orders.draft import OrderDraft, OrderRequest, draft_order, parse_recorded_request, read_sources
from generation.orders.order import Order, find_order_by_key
from generation.providers.capabilities import Capabilities
from runtime.cards.cards import Card
from runtime.limits import credits, guard
from runtime.limits.guard import CallAllowed, CallFacts, CallRefused, GuardVerdict, NeedsConfirmation, NeedsQuote
from runtime.statuses import UNFINISHED_CALL_STATUSES
from runtime.tasks import tasks
from runtime.turns.ledger_queries import list_calls_of_step


@dataclass(frozen=True)
class PlacementDependencies:
    """Dependencies for placing orders. An order may be charged at most `overrun` times its quote."""

    capabilities: Capabilities
    works: OrderWorks
    overrun: Decimal


def place_order(dependencies: PlacementDependencies, call: CallContext, request: OrderRequest) -> Order | Card:
    """Order what a call requests, once per call; above a limit, return the card that asks a person instead.

    Raises InvalidError (the request cannot be ordered as it is), RefusedError (the guard refuses), ConflictError (the
    call already ordered something else, or a named work has changed), UnavailableError (no price is available).
    """
    with call.reading() as scope:
        placed = _find_placed(scope, call.call_id, request)
    if placed is not None:
        return placed
    draft = draft_call(dependencies, call, call.call_id, request)
    with call.transaction("order.admitted") as scope:
        facts = _lock_and_gather_facts(scope, call, draft)
        verdict = guard.judge_call(facts)
        if not isinstance(verdict, NeedsQuote):
            return _find_placed(scope, call.call_id, request) or _admit_allowed(scope, call, draft, verdict, facts)
    # A card is needed. The later calls that it may cover are drafted outside a transaction, since a provider may be
    # asked for its offers. After that the order is judged once more, under the lock.
    others = [] if verdict.limit == "program" else _draft_later_calls(dependencies, call)
    with call.transaction("order.admitted") as scope:
        if call.task_id is not None:
            # A card may close others and inform the task, so lock its row before the budget's, as an approval does.
            tasks.lock_task(scope, call.task_id)
        facts = _lock_and_gather_facts(scope, call, draft)
        verdict = guard.judge_call(facts)
        if isinstance(verdict, NeedsQuote):
            return _find_placed(scope, call.call_id, request) or card.ask_before_spending(
                scope, call, draft, others, verdict
            )
        return _find_placed(scope, call.call_id, request) or _admit_allowed(scope, call, draft, verdict, facts)


def draft_call(
    dependencies: PlacementDependencies, call: CallContext, call_id: str, request: OrderRequest
) -> OrderDraft:
    """Read the works that a request names, then check and price it; raises as `read_sources` and `draft_order` do."""
    with call.reading() as scope:
        sources = read_sources(scope, dependencies.works, request, call.task_id)
    return draft_order(call_id, request, sources, dependencies.capabilities, dependencies.overrun)


def _find_placed(scope: Scope, call_id: str, request: OrderRequest) -> Order | Card | None:
    if find_order_by_key(scope, call_id) is not None:
        return get_admitted_order(scope, call_id, request.digest())
    return card.find_call_card(scope, call_id, request.digest())


def _lock_and_gather_facts(scope: Scope, call: CallContext, draft: OrderDraft) -> CallFacts:
    credits.lock_budget(scope)
    return gather_order_facts(scope, call, draft)


def gather_order_facts(scope: Scope, call: CallContext, draft: OrderDraft) -> CallFacts:
    """Gather what the guard needs to judge a drafted order."""
    return guard.gather_call_facts(
        scope,
        effect=Effect.PAID,
        person_id=call.person_id,
        asked_by=call.asked_by,
        task_id=call.task_id,
        amount=draft.quote,
        currency=draft.currency,
        kind=draft.kind,
    )


def _admit_allowed(
    scope: Scope, call: CallContext, draft: OrderDraft, verdict: GuardVerdict, facts: CallFacts
) -> Order:
    match verdict:
        case CallAllowed():
            return admit_order(scope, draft, task_id=call.task_id, turn_id=call.turn_id, unasked=_unasked_limit(facts))
        case CallRefused():
            raise RefusedError(verdict.reason)
        case NeedsQuote() | NeedsConfirmation():
            raise RefusedError("a person must approve this first")
        case _:
            assert_never(verdict)


def _unasked_limit(facts: CallFacts) -> Decimal:
    """Return the most that an order without a card may be charged: what its plan has left, or the free allowance."""
    if facts.plan is not None:
        return facts.plan.amount - facts.plan_spent
    return facts.budget.free_per_operation


def _draft_later_calls(dependencies: PlacementDependencies, call: CallContext) -> list[OrderDraft]:
    """Draft the later paid calls of the same decision, in their order; those that cannot be drafted are left out."""
    turn_id, step, seq = call.call_id.rsplit(":", 2)
    with call.reading() as scope:
        rows = [row for row in list_calls_of_step(scope, turn_id, int(step)) if row.seq > int(seq)]
    found = []
    for row in rows:
        request = parse_recorded_request(row.tool, row.arguments) if row.status in UNFINISHED_CALL_STATUSES else None
        if request is None:
            continue
        try:
            found.append(draft_call(dependencies, call, row.id, request))
        except LoopwrightError:
            # A call that cannot be priced now is not on the card; it reports its own error when it runs.
            continue
    return found
