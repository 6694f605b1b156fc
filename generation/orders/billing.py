"""Billing: what is charged for an order, from what the provider claims and what was agreed.

No more is charged than was agreed. A claim above that, or one that cannot be read, is shown as contested.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import assert_never

from core.amounts import format_amount
from generation.orders.states import OrderState
from generation.providers.port import JobNews

LONGEST_CLAIM = 300
_DIGITS = 40
# Money is stored in millionths.
_UNIT = Decimal("0.000001")
_CLAIM = re.compile(rf"([0-9]{{1,{_DIGITS}}}(?:\.[0-9]{{1,{_DIGITS}}})?) ([A-Z]{{3}})")


class Contest(StrEnum):
    """Reason why a claim is not charged as it is."""

    ABOVE_MOST = "above_most"
    OTHER_CURRENCY = "other_currency"
    UNREADABLE = "unreadable"


@dataclass(frozen=True)
class AgreedPrice:
    """Price agreed for an order: its quote, and the most that may be charged."""

    quote: Decimal
    most: Decimal
    currency: str


@dataclass(frozen=True)
class Bill:
    """Amount charged, None for nothing, and why the provider's claim is contested, if it is."""

    charge: Decimal | None = None
    contested: Contest | None = None


def max_charge(quote: Decimal, factor: Decimal) -> Decimal:
    """Return the most that an order at this quote may be charged, in whole millionths."""
    most = quote * factor
    rounded = most.quantize(_UNIT)
    # An amount that needs no rounding keeps the digits that it has: 0.4, not 0.400000.
    return most if most == rounded else rounded


def claim_of(news: JobNews) -> str | None:
    """Return the cost that a provider reports, as a line of ASCII: `1.50 USD`, or JSON when it is no amount."""
    if news.odd_cost:
        return news.odd_cost[:LONGEST_CLAIM]
    if news.cost is None:
        return None
    amount = _claimed_amount(news.cost)
    claim = f"{amount} {news.currency}"
    return claim if _CLAIM.fullmatch(claim) else ascii(claim)[:LONGEST_CLAIM]


def compute_bill(state: OrderState, claim: str | None, agreed: AgreedPrice) -> Bill:
    """Decide what is charged.

    A success costs the claim, but at most what was agreed. Without a readable claim in the order's own currency it
    costs its quote. Any other end costs the claim, within the same bound, and nothing without such a claim.
    """
    succeeded = state is OrderState.SUCCEEDED
    if state is OrderState.UNRESOLVED:
        return Bill()
    default = agreed.quote if succeeded else None
    if claim is None:
        return Bill(default)
    parsed = _CLAIM.fullmatch(claim)
    if parsed is None:
        return Bill(default, Contest.UNREADABLE)
    amount = Decimal(parsed[1])
    if not amount and not succeeded:
        return Bill()
    if parsed[2] != agreed.currency:
        return Bill(default, Contest.OTHER_CURRENCY)
    # A difference that rounds to zero when it is stored does not make the claim larger than agreed.
    if amount - agreed.most >= _UNIT / 2:
        return Bill(agreed.most, Contest.ABOVE_MOST)
    return Bill(amount)


def describe_claim(claim: str) -> str:
    """Describe a claim as part of a sentence. Text of the provider that is no amount is not repeated."""
    return claim if _CLAIM.fullmatch(claim) else "something that is no amount"


def describe_contest(title: str, provider: str, claim: str, agreed: AgreedPrice, billed: Bill) -> str:
    """Describe a contested claim to a person; empty when it is not contested."""
    if billed.contested is None:
        return ""
    unit, charged = agreed.currency, Decimal(0) if billed.charge is None else billed.charge
    quoted, booked = format_amount(agreed.quote, unit), format_amount(charged, unit)
    start = f"{title!r} was quoted at {quoted}. {provider} billed {describe_claim(claim)}, and {booked} "
    # Any other charge was booked at an earlier end of the order, which was corrected later.
    expected = (agreed.most,) if billed.contested is Contest.ABOVE_MOST else (agreed.quote, None)
    match billed.contested:
        case _ if billed.charge not in expected:
            why = "is charged, as it was when it first ended: it is charged once. The bill is contested with"
        case Contest.ABOVE_MOST:
            why = "is charged, the most that was agreed. The rest is contested with"
        case Contest.OTHER_CURRENCY:
            why = f"is charged, since the agreement was in {unit}. The bill is contested with"
        case Contest.UNREADABLE:
            why = "is charged, since money never moves on a guess. The bill is contested with"
        case _:
            assert_never(billed.contested)
    return f"{start}{why} {provider}: nothing more is paid for it here. The task's next paid act asks you first."


def _claimed_amount(cost: Decimal) -> str:
    # A plug-in may return anything in place of an amount.
    if isinstance(cost, Decimal) and cost.is_finite() and abs(cost.adjusted()) <= _DIGITS:
        return f"{cost:f}"
    return str(cost)[:LONGEST_CLAIM]
