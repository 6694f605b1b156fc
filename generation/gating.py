"""The card that asks a person before money is spent: one for the calls of a decision that are above the limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from core.database import Scope
from core.errors import ConflictError
from core.tools import CallContext, Effect
from generation import quotes
from generation.asking import Kind, ask_about
from generation.drafts import Draft
from generation.outdating import supersede_older
from runtime import cards, guard
from runtime.cards import Card
from runtime.guard import Allowed, NeedsQuote
from runtime.tables import cards as cards_table


def card_of(scope: Scope, call_id: str, digest: str) -> Card | None:
    """The card that was opened for a call, in whatever state it is."""
    decision = call_id.rsplit(":", 1)[0]
    causes = [_cause(kind, of) for of in (call_id, decision) for kind in ("quote", "limit")]
    rows = scope.rows(scope.select(cards_table.c.id).where(cards_table.c.cause.in_(causes)))
    found = [cards.get(scope, row.id) for row in rows]
    return next((card for card in found if quotes.holds(card.subject, call_id, digest)), None)


def ask(scope: Scope, call: CallContext, mine: Draft, others: Sequence[Draft], verdict: NeedsQuote) -> Card:
    """Open the card for a call and for those after it that meet a limit too.

    What a program asked for gets a card of its own for each act. Cards of the task's earlier decisions ask no more.
    """
    kind: Kind = "limit" if verdict.limit == "balance" else "quote"
    if verdict.limit == "program":
        return _open(scope, call, kind, _cause(kind, call.call_id), [mine], verdict)
    joined = [mine, *_above(scope, call, others, kind)]
    card = _open(scope, call, kind, _cause(kind, call.call_id.rsplit(":", 1)[0]), joined, verdict)
    if quotes.holds(card.subject, mine.call_id, mine.digest):
        return card
    # The decision's card was opened before this call met a limit, so it does not speak of it.
    return _open(scope, call, kind, _cause(kind, call.call_id), [mine], verdict)


def _above(scope: Scope, call: CallContext, others: Sequence[Draft], kind: Kind) -> list[Draft]:
    """Those that would meet a limit, counting the ones between them that would not."""
    above = []
    facts = guard.gather_facts(
        scope, effect=Effect.PAID, person_id=call.person_id, asked_by=call.asked_by, task_id=call.task_id
    )
    for other in others:
        facts = replace(facts, amount=other.quote, currency=other.currency, kind=other.kind)
        match guard.decide(facts):
            case Allowed():
                facts = facts.after(other.quote)
            case NeedsQuote(limit=limit) if (limit == "balance") == (kind == "limit"):
                above.append(other)
            case _:
                continue
    return above


def _open(
    scope: Scope, call: CallContext, kind: Kind, cause: str, drafts: Sequence[Draft], verdict: NeedsQuote
) -> Card:
    card = ask_about(scope, kind, drafts, verdict.reason, cause=cause, task_id=call.task_id, turn_id=call.turn_id)
    mine = drafts[0]
    if cause == _cause(kind, mine.call_id) and not quotes.holds(card.subject, mine.call_id, mine.digest):
        raise ConflictError(f"the call {mine.call_id} has already asked for something else; propose a new call")
    supersede_older(scope, card)
    return card


def _cause(kind: str, of: str) -> str:
    return f"{of}:{kind}"
