"""Answers of people to quote and limit cards, acted on in the transaction that records them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import partial

from core.amounts import format_amount
from core.database import Scope
from core.errors import ConflictError, RefusedError
from core.tables import roles
from generation.approval.admission import admit_order
from generation.approval.card import open_money_card, read_card_drafts, replace_wait, total_price
from generation.orders.draft import OrderDraft
from generation.orders.order import list_open_order_ids
from runtime.cards import cards
from runtime.cards.answers import AnswerHandler, CardAct, deliver_card_answer, revoke_answer
from runtime.cards.cards import Card
from runtime.commands import control
from runtime.limits import credits
from runtime.statuses import CardKind, WaitKind
from runtime.tasks import tasks, waits

VersionOf = Callable[[Scope, str], int | None]
"""Returns the current version of a work; None when it is gone."""


def order_card_answers(version_of: VersionOf) -> Mapping[CardAct, AnswerHandler]:
    """Return the handlers of quote and limit cards about orders."""
    return {
        (CardKind.QUOTE, ""): partial(answer_quote_card, version_of),
        (CardKind.LIMIT, ""): partial(answer_limit_card, version_of),
    }


def answer_quote_card(version_of: VersionOf, scope: Scope, card: Card) -> None:
    """Act on the answer to a quote card: `approve` orders exactly what the card shows, `refuse` informs the task.

    When a work has changed since it was priced, nothing is ordered: the card is superseded, and the task may ask again.
    Raises ConflictError when the card has already authorised its orders, RefusedError when its stored facts do not
    match its quote or the person may not approve.
    """
    if card.answer_option != "approve" or not card.subject.get("orders"):
        deliver_card_answer(scope, card)
        return
    drafts = _authorised_drafts(scope, card)
    if _have_works_changed(scope, drafts, version_of):
        revoke_answer(scope, card)
        return
    budget = _lock_budget(scope, card)
    if total_price(drafts) > budget.available:
        _ask_for_credit(scope, card, drafts, budget)
        return
    _admit_all(scope, card, drafts)


def answer_limit_card(version_of: VersionOf, scope: Scope, card: Card) -> None:
    """Act on the answer to a limit card: `raise` orders what waits for credit, `stop` stops the task.

    An owner's `raise` adds once to the balance what is missing of the amount on the card. When anyone else answers and
    the balance does not cover it, raises RefusedError, so that the card stays open. Works that have changed are treated
    as on a quote card.
    """
    if card.answer_option == "stop" and card.task_id is not None:
        control.stop_task(scope, card.task_id)
    elif card.answer_option != "raise" or not card.subject.get("orders"):
        deliver_card_answer(scope, card)
    else:
        _raise_limit(scope, card, version_of)


def _raise_limit(scope: Scope, card: Card, version_of: VersionOf) -> None:
    drafts = _authorised_drafts(scope, card)
    if _have_works_changed(scope, drafts, version_of):
        revoke_answer(scope, card)
        return
    budget = _lock_budget(scope, card)
    missing = total_price(drafts) - budget.available
    if missing > 0:
        _add_credit(scope, card, missing, budget)
    _admit_all(scope, card, drafts)


def _have_works_changed(scope: Scope, drafts: list[OrderDraft], version_of: VersionOf) -> bool:
    """Tell whether an input, or a work to make the next version of, has changed since it was priced."""
    named = {(str(one["object_id"]), int(one["version"])) for draft in drafts for one in draft.inputs}
    named |= {(draft.object_id, draft.base_version or 0) for draft in drafts if draft.object_id is not None}
    return any(version_of(scope, object_id) != version for object_id, version in named)


def _add_credit(scope: Scope, card: Card, missing: Decimal, budget: credits.Budget) -> None:
    if _answering_role(scope, card) != "owner":
        raise RefusedError(
            f"{format_amount(missing, budget.currency)} are missing, and only an owner of the workspace adds credit; "
            "answer again when that is done"
        )
    credits.grant_credit(scope, missing, f"{card.id}:raise")


def _answering_role(scope: Scope, card: Card) -> str | None:
    role: str | None = scope.scalar(scope.select(roles.c.role).where(roles.c.person_id == card.answered_by))
    return role


def _lock_budget(scope: Scope, card: Card) -> credits.Budget:
    if card.task_id is not None:
        tasks.lock_task(scope, card.task_id)
    return credits.lock_budget(scope)


def _authorised_drafts(scope: Scope, card: Card) -> list[OrderDraft]:
    if _answering_role(scope, card) not in ("owner", "member"):
        raise RefusedError("only an owner or a member of the workspace may approve spending")
    if credits.list_reservations_of_card(scope, card.id):
        raise ConflictError(f"card {card.id} has been used; it authorises its orders once")
    return read_card_drafts(card)


def _admit_all(scope: Scope, card: Card, drafts: list[OrderDraft]) -> None:
    for one in drafts:
        admit_order(scope, one, task_id=card.task_id, turn_id=str(card.subject["turn_id"]), card_id=card.id)
    _wait_for_orders(scope, card)


def _wait_for_orders(scope: Scope, card: Card) -> None:
    """Let a task that waited for the card wait for its orders. The model need not run to learn of the approval."""
    if card.task_id is None:
        return
    replace_wait(
        scope,
        card.task_id,
        card.id,
        open_refs={one.id for one in cards.list_all_open_cards(scope, card.task_id)},
        kind=WaitKind.GENERATION,
        refs=list_open_order_ids(scope, card.task_id),
    )


def _ask_for_credit(scope: Scope, card: Card, drafts: list[OrderDraft], budget: credits.Budget) -> None:
    approved, free = (format_amount(one, budget.currency) for one in (total_price(drafts), budget.available))
    limit = open_money_card(
        scope,
        CardKind.LIMIT,
        drafts,
        f"{approved} is approved, but only {free} is free",
        cause=f"{card.id}:limit",
        task_id=card.task_id,
        turn_id=str(card.subject["turn_id"]),
    )
    wait = None if card.task_id is None else waits.find_wait(scope, card.task_id)
    if card.task_id is not None and wait is not None and card.id in wait.refs:
        refs = [limit.id if ref == card.id else ref for ref in wait.refs]
        waits.begin_wait(scope, card.task_id, wait.turn_id, WaitKind.CARD, refs)
