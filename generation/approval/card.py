"""Cards that ask a person about money: a price to approve, or credit that is missing.

One card covers all calls of a decision that are above a limit. It supersedes the cards of the task's earlier
decisions. An approval orders what is stored on the card itself.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any, Literal

from core.amounts import format_amount
from core.database import Scope
from core.errors import ConflictError, RefusedError
from core.tools import CallContext, Effect
from generation.orders.draft import OrderDraft, digest_of
from runtime.cards import cards
from runtime.cards.answers import deliver_card_answer
from runtime.cards.cards import Card, open_card
from runtime.limits import guard
from runtime.limits.guard import CallAllowed, NeedsQuote
from runtime.statuses import CardKind, CardState, WaitKind
from runtime.tables import cards as cards_table
from runtime.tasks import tasks, waits

MoneyCardKind = Literal[CardKind.QUOTE, CardKind.LIMIT]
QUOTE_LIFETIME = timedelta(days=7)
"""How long a price on a card is valid. Then the card expires, and the task may ask for a new one."""
RAISE_HINT = "Raising the limit adds what is missing to the balance."
_KIND_NAMES = {"image": "picture", "video": "film", "audio": "sound", "model3d": "3D model"}


def total_price(drafts: Sequence[OrderDraft]) -> Decimal:
    """Return the sum of the quotes."""
    return sum((draft.quote for draft in drafts), Decimal(0))


def build_quote(drafts: Sequence[OrderDraft]) -> dict[str, Any]:
    """Build the `quote` of a card: `{amount, currency, lines, plan_digest}`."""
    return {
        "amount": str(total_price(drafts)),
        "currency": drafts[0].currency,
        "lines": [draft.card_line() for draft in drafts],
        "plan_digest": plan_digest(drafts),
    }


def plan_digest(drafts: Sequence[OrderDraft]) -> str:
    """Return a digest of everything that the drafts would order."""
    return digest_of([draft.to_stored() for draft in drafts])


def build_quote_subject(drafts: Sequence[OrderDraft], turn_id: str) -> dict[str, Any]:
    """Build the stored facts that an answer acts on."""
    return {
        "turn_id": turn_id,
        "call_ids": [draft.call_id for draft in drafts],
        "orders": [draft.to_stored() for draft in drafts],
    }


def read_card_drafts(card: Card) -> list[OrderDraft]:
    """Read the drafts of a card; raises RefusedError when they are not those that its quote was made for."""
    drafts = [OrderDraft.from_stored(stored) for stored in card.subject.get("orders", ())]
    if not drafts or card.quote is None or card.quote.get("plan_digest") != plan_digest(drafts):
        raise RefusedError(f"card {card.id} does not hold what its quote was made for; nothing is ordered")
    return drafts


def covers_call(card_subject: Mapping[str, Any], call_id: str, digest: str) -> bool:
    """Tell whether a card was opened for this call with this request."""
    return any(one["call_id"] == call_id and one["digest"] == digest for one in card_subject.get("orders", ()))


def describe_drafts(drafts: Sequence[OrderDraft]) -> str:
    """Describe drafts as in `3 pictures and 1 film for 0.37 USD`."""
    counts: dict[str, int] = {}
    for draft in drafts:
        counts[draft.kind] = counts.get(draft.kind, 0) + 1
    parts = [f"{count} {_KIND_NAMES[kind]}{'s' if count > 1 else ''}" for kind, count in counts.items()]
    return f"{' and '.join(parts)} for {format_amount(total_price(drafts), drafts[0].currency)}"


def open_money_card(
    scope: Scope,
    kind: MoneyCardKind,
    drafts: Sequence[OrderDraft],
    why: str,
    *,
    cause: str,
    task_id: str | None,
    turn_id: str,
) -> Card:
    """Open a card about these drafts, once per `cause`.

    `why` is a sentence, without its full stop, that says what prevents ordering them.
    """
    heading = describe_drafts(drafts)
    return open_card(
        scope,
        kind=kind,
        title=f"Approve {heading}?" if kind == CardKind.QUOTE else f"Not enough credit: {heading}",
        body=why if kind == CardKind.QUOTE else f"{why}. {RAISE_HINT}",
        options=cards.QUOTE_OPTIONS if kind == CardKind.QUOTE else cards.LIMIT_OPTIONS,
        cause=cause,
        task_id=task_id,
        turn_id=turn_id,
        quote=build_quote(drafts),
        subject=build_quote_subject(drafts, turn_id),
        expires_at=scope.now + QUOTE_LIFETIME,
    )


def supersede_older_cards(scope: Scope, card: Card) -> None:
    """Close the task's open quote and limit cards that belong to other decisions than this open card.

    The caller has locked the task's row before the budget's.
    """
    if card.task_id is None or card.state != CardState.OPEN:
        return
    tasks.lock_task(scope, card.task_id)
    decision = decision_of_card(card)
    open_cards = scope.select(cards_table.c.id).where(
        cards_table.c.task_id == card.task_id,
        cards_table.c.state == CardState.OPEN,
        cards_table.c.kind.in_((CardKind.QUOTE, CardKind.LIMIT)),
        cards_table.c.id != card.id,
    )
    for row in scope.rows(open_cards.order_by(cards_table.c.created_at, cards_table.c.id)):
        older = cards.get_card(scope, row.id)
        if decision_of_card(older) != decision and cards.supersede_card(scope, older.id):
            deliver_card_answer(scope, older)


def replace_wait(
    scope: Scope, task_id: str, ref: str, *, open_refs: Collection[str], kind: WaitKind, refs: Sequence[str]
) -> None:
    """Change the wait of a task that waits for `ref`, which has ended.

    The task goes on waiting for those of its references that are in `open_refs`. When none is left, it waits for `refs`
    of `kind` instead. A task that does not wait for `ref` is left alone.
    """
    wait = waits.find_wait(scope, task_id)
    if wait is None or ref not in wait.refs:
        return
    left = [one for one in wait.refs if one in open_refs]
    if left:
        waits.begin_wait(scope, task_id, wait.turn_id, wait.kind, left)
    else:
        waits.begin_wait(scope, task_id, wait.turn_id, kind, refs)


def decision_of_card(card: Card) -> str:
    """Return the decision (`turn:step`) whose calls a quote or limit card covers; empty when it covers none."""
    calls = card.subject.get("call_ids") or [""]
    return ":".join(str(calls[0]).split(":")[:2])


def find_call_card(scope: Scope, call_id: str, digest: str) -> Card | None:
    """Return the card that was opened for a call, in any state."""
    decision = call_id.rsplit(":", 1)[0]
    causes = [
        _card_cause(kind, decision_or_call)
        for decision_or_call in (call_id, decision)
        for kind in (CardKind.QUOTE, CardKind.LIMIT)
    ]
    rows = scope.rows(scope.select(cards_table.c.id).where(cards_table.c.cause.in_(causes)))
    found = [cards.get_card(scope, row.id) for row in rows]
    return next((card for card in found if covers_call(card.subject, call_id, digest)), None)


def ask_before_spending(
    scope: Scope, call: CallContext, draft: OrderDraft, others: Sequence[OrderDraft], verdict: NeedsQuote
) -> Card:
    """Open a card for a call and the later calls of its decision that are above a limit too.

    Each call that a program asked for gets a separate card. Cards of the task's earlier decisions are superseded.
    """
    kind: MoneyCardKind = CardKind.LIMIT if verdict.limit == "balance" else CardKind.QUOTE
    if verdict.limit == "program":
        return _open_call_card(scope, call, kind, _card_cause(kind, call.call_id), [draft], verdict)
    joined = [draft, *_drafts_above_limit(scope, call, others, kind)]
    card = _open_call_card(scope, call, kind, _card_cause(kind, call.call_id.rsplit(":", 1)[0]), joined, verdict)
    if covers_call(card.subject, draft.call_id, draft.digest):
        return card
    # The card of the decision was opened before this call met a limit, so it does not cover this call.
    return _open_call_card(scope, call, kind, _card_cause(kind, call.call_id), [draft], verdict)


def _drafts_above_limit(
    scope: Scope, call: CallContext, others: Sequence[OrderDraft], kind: MoneyCardKind
) -> list[OrderDraft]:
    """Return those of the later drafts that need a card of this kind too.

    They are judged in order, as if each draft that needs no card had been paid for.
    """
    above = []
    facts = guard.gather_call_facts(
        scope, effect=Effect.PAID, person_id=call.person_id, asked_by=call.asked_by, task_id=call.task_id
    )
    for other in others:
        facts = replace(facts, amount=other.quote, currency=other.currency, kind=other.kind)
        match guard.judge_call(facts):
            case CallAllowed():
                facts = facts.after(other.quote)
            case NeedsQuote(limit=limit) if (limit == "balance") == (kind == CardKind.LIMIT):
                above.append(other)
            case _:
                continue
    return above


def _open_call_card(
    scope: Scope, call: CallContext, kind: MoneyCardKind, cause: str, drafts: Sequence[OrderDraft], verdict: NeedsQuote
) -> Card:
    card = open_money_card(scope, kind, drafts, verdict.reason, cause=cause, task_id=call.task_id, turn_id=call.turn_id)
    first = drafts[0]
    # The cause names this call alone, so a card that does not cover it was opened for another request of the same call.
    if cause == _card_cause(kind, first.call_id) and not covers_call(card.subject, first.call_id, first.digest):
        raise ConflictError(f"the call {first.call_id} has already asked for something else; propose a new call")
    supersede_older_cards(scope, card)
    return card


def _card_cause(kind: CardKind, decision_or_call: str) -> str:
    """Return the cause of a card that is asked for by a decision (`turn:step`), or by one call (`turn:step:seq`)."""
    return f"{decision_or_call}:{kind}"
