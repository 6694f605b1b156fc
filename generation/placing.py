"""Placing an order: checked, priced, guarded and admitted, or put on a card for a person to decide."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import assert_never

from core.database import Scope
from core.errors import LoopwrightError, RefusedError
from core.tools import CallContext, Effect
from generation import gating
from generation.admitting import admit, ordered_before
from generation.capabilities import Capabilities
from generation.drafts import Draft, draft, read_sources
from generation.orders import Order, by_key
from generation.parts import Works
from generation.wishes import Wish, wish_in
from runtime import credits, guard, tasks
from runtime.cards import Card
from runtime.guard import Allowed, Facts, NeedsConfirmation, NeedsQuote, Refused, Verdict
from runtime.turns.ledger import calls_of_step


@dataclass(frozen=True)
class Desk:
    """What placing needs besides the call; `overrun` is how many times its quote an order may be charged at most."""

    capabilities: Capabilities
    works: Works
    overrun: Decimal


def place(desk: Desk, call: CallContext, wish: Wish) -> Order | Card:
    """Order what a call wishes for, once per call; above a limit, answer the card that asks a person instead.

    Raises InvalidError (it cannot be ordered so), RefusedError (the guard's first refusal), ConflictError (the call
    ordered something else, or a named work has moved), UnavailableError (no price can be had).
    """
    with call.reading() as scope:
        before = _before(scope, call.call_id, wish)
    if before is not None:
        return before
    mine = draft_for(desk, call, call.call_id, wish)
    with call.transaction("order.admitted") as scope:
        facts = _facts(scope, call, mine)
        verdict = guard.decide(facts)
        if not isinstance(verdict, NeedsQuote):
            return _before(scope, call.call_id, wish) or _admitted(scope, call, mine, verdict, facts)
    others = [] if verdict.limit == "program" else _following(desk, call)
    with call.transaction("order.admitted") as scope:
        if call.task_id is not None:
            # A card may close others and tell the task: its row goes before the budget's, here as in an approval.
            tasks.lock(scope, call.task_id)
        facts = _facts(scope, call, mine)
        verdict = guard.decide(facts)
        if isinstance(verdict, NeedsQuote):
            return _before(scope, call.call_id, wish) or gating.ask(scope, call, mine, others, verdict)
        return _before(scope, call.call_id, wish) or _admitted(scope, call, mine, verdict, facts)


def draft_for(desk: Desk, call: CallContext, call_id: str, wish: Wish) -> Draft:
    with call.reading() as scope:
        sources = read_sources(scope, desk.works, wish, call.task_id)
    return draft(call_id, wish, sources, desk.capabilities, desk.overrun)


def _before(scope: Scope, call_id: str, wish: Wish) -> Order | Card | None:
    if by_key(scope, call_id) is not None:
        return ordered_before(scope, call_id, wish.digest())
    return gating.card_of(scope, call_id, wish.digest())


def _facts(scope: Scope, call: CallContext, mine: Draft) -> Facts:
    credits.lock(scope)
    return facts_for(scope, call, mine)


def facts_for(scope: Scope, call: CallContext, mine: Draft) -> Facts:
    return guard.gather_facts(
        scope,
        effect=Effect.PAID,
        person_id=call.person_id,
        asked_by=call.asked_by,
        task_id=call.task_id,
        amount=mine.quote,
        currency=mine.currency,
        kind=mine.kind,
    )


def _admitted(scope: Scope, call: CallContext, mine: Draft, verdict: Verdict, facts: Facts) -> Order:
    match verdict:
        case Allowed():
            return admit(scope, mine, task_id=call.task_id, turn_id=call.turn_id, unasked=_unasked(facts))
        case Refused():
            raise RefusedError(verdict.reason)
        case NeedsQuote() | NeedsConfirmation():
            raise RefusedError("a person must approve this first")
        case _:
            assert_never(verdict)


def _unasked(facts: Facts) -> Decimal:
    """The most that one order may come to of which no card spoke: what its plan has left, else the free allowance."""
    if facts.plan is not None:
        return facts.plan.amount - facts.plan_spent
    return facts.budget.free_per_operation


def _following(desk: Desk, call: CallContext) -> list[Draft]:
    """The paid calls of the same decision that come after this one and can be drafted, in their order."""
    turn_id, step, seq = call.call_id.rsplit(":", 2)
    with call.reading() as scope:
        rows = [row for row in calls_of_step(scope, turn_id, int(step)) if row.seq > int(seq)]
    found = []
    for row in rows:
        wish = wish_in(row.tool, row.arguments) if row.status in ("proposed", "started") else None
        if wish is None:
            continue
        try:
            found.append(draft_for(desk, call, row.id, wish))
        except LoopwrightError:
            # What cannot be priced now is left off the card; when its turn comes, the call tells its own trouble.
            continue
    return found
