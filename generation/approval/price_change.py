"""Price changes between approval and sending: the order is not sent, and a card asks a person about the new price."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from core.amounts import format_amount
from core.database import Scope
from generation.approval.card import open_money_card, replace_wait
from generation.orders.billing import max_charge
from generation.orders.draft import OrderDraft
from generation.orders.end import finish_order
from generation.orders.lease import OrderLease
from generation.orders.order import Order, list_open_order_ids
from generation.orders.states import OrderState
from generation.providers.capabilities import Capabilities
from runtime.statuses import ENDED_TASK_STATUSES, CardKind, WaitKind
from runtime.tasks import tasks

PRICE_CHANGED = "its price has changed since it was agreed, so it was not sent"


@dataclass(frozen=True)
class CurrentPrice:
    """Current price of an order at its provider."""

    amount: Decimal
    currency: str

    def is_agreed(self, order: Order) -> bool:
        """Tell whether the order may be sent at this price: it is no more than its quote."""
        return self.currency == order.currency and self.amount <= order.quote


def read_current_price(capabilities: Capabilities, order: Order) -> CurrentPrice:
    """Read the current price of an order.

    Raises UnavailableError when the provider does not answer, InvalidError when it no longer offers this.
    """
    price = capabilities.current_offer(order.provider, order.kind, order.model).price
    return CurrentPrice(price.of(order.params.get("seconds")), price.currency)


def ask_at_new_price(scope: Scope, lease: OrderLease, order: Order, price: CurrentPrice, overrun: Decimal) -> None:
    """End an order that was not sent, and open a card that asks about the new price.

    A task that waits for the order waits for the card instead; the model need not run for that. For a task that has
    ended no card is opened.
    """
    agreed, asked = format_amount(order.quote, order.currency), format_amount(price.amount, price.currency)
    reason = f"{PRICE_CHANGED}: {agreed} was agreed, {asked} is asked now"
    # Lock the task before the order: stopping a task closes its cards, so none may be opened after that.
    will_ask = order.task_id is not None and tasks.lock_task(scope, order.task_id).status not in ENDED_TASK_STATUSES
    ended = finish_order(scope, order.id, OrderState.CANCELLED, error=reason, lease=lease, tell=not will_ask)
    if not ended or not will_ask or order.task_id is None:
        return
    card = open_money_card(
        scope,
        CardKind.QUOTE,
        [_draft_at_price(order, price, overrun)],
        f"{order.title!r} was not sent: its price has changed from {agreed} to {asked} since it was agreed",
        cause=f"{order.call_id}:repriced",
        task_id=order.task_id,
        turn_id=order.turn_id,
    )
    replace_wait(
        scope,
        order.task_id,
        order.id,
        open_refs=list_open_order_ids(scope, order.task_id),
        kind=WaitKind.CARD,
        refs=[card.id],
    )


def _draft_at_price(order: Order, price: CurrentPrice, overrun: Decimal) -> OrderDraft:
    # Leave out the order that an earlier change of price added to the id.
    call_id = ":".join(order.call_id.split(":")[:3])
    return OrderDraft(
        # The id of a call is the key of its only order, so the order at the new price needs a different one. It begins
        # with the call's id, by which `list_call_orders` finds it.
        call_id=f"{call_id}:{order.id}",
        digest=order.digest,
        title=order.title,
        kind=order.kind,
        provider=order.provider,
        model=order.model,
        params=order.params,
        inputs=order.inputs,
        object_id=order.object_id,
        base_version=order.base_version,
        quote=price.amount,
        most=max_charge(price.amount, overrun),
        currency=price.currency,
    )
