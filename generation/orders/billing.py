"""Billing: what a provider's claim comes to.

Money moves by what was agreed. A claim above it, or one that cannot be parsed, moves none and is shown as contested.
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
_UNIT = Decimal("0.000001")
_CLAIM = re.compile(rf"([0-9]{{1,{_DIGITS}}}(?:\.[0-9]{{1,{_DIGITS}}})?) ([A-Z]{{3}})")


class Contest(StrEnum):
    """Why a claim is not simply charged."""

    ABOVE_MOST = "above_most"
    OTHER_CURRENCY = "other_currency"
    UNREADABLE = "unreadable"


@dataclass(frozen=True)
class AgreedPrice:
    """What was agreed of an order: its quote, and the most that it may be charged."""

    quote: Decimal
    most: Decimal
    currency: str


@dataclass(frozen=True)
class Bill:
    """What is charged, None for nothing; and why the provider's claim is contested, where it is."""

    charge: Decimal | None = None
    contested: Contest | None = None


def max_charge(quote: Decimal, factor: Decimal) -> Decimal:
    """The most that an order at this quote may be charged, in whole millionths."""
    most = quote * factor
    rounded = most.quantize(_UNIT)
    return most if most == rounded else rounded


def claim_of(news: JobNews) -> str | None:
    """What a provider says that a job costs, as one line of ASCII to keep: `1.50 USD`, or its own words in JSON where
    they are no amount."""
    if news.odd_cost:
        return news.odd_cost[:LONGEST_CLAIM]
    if news.cost is None:
        return None
    amount = _format_amount(news.cost)
    claim = f"{amount} {news.currency}"
    return claim if _CLAIM.fullmatch(claim) else ascii(claim)[:LONGEST_CLAIM]


def compute_bill(state: OrderState, claim: str | None, agreed: AgreedPrice) -> Bill:
    """The rule. A success costs what is claimed, but at most what was agreed; without a claim that can be parsed in the
    order's own currency it costs its quote. Any other end costs what is claimed, within the same bound, and nothing
    without such a claim."""
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
    # Money is kept in millionths: a claim is no larger for what is smaller than one.
    if amount - agreed.most >= _UNIT / 2:
        return Bill(agreed.most, Contest.ABOVE_MOST)
    return Bill(amount)


def describe_claim(claim: str) -> str:
    """A claim in a sentence; words of the provider's that are no amount are not repeated."""
    return claim if _CLAIM.fullmatch(claim) else "something that is no amount"


def describe_contest(title: str, provider: str, claim: str, agreed: AgreedPrice, billed: Bill) -> str:
    """What a person is told of a contested claim; empty where it is none."""
    if billed.contested is None:
        return ""
    unit, charged = agreed.currency, Decimal(0) if billed.charge is None else billed.charge
    quoted, booked = format_amount(agreed.quote, unit), format_amount(charged, unit)
    start = f"{title!r} was quoted at {quoted}. {provider} billed {describe_claim(claim)}, and {booked} "
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


def _format_amount(cost: Decimal) -> str:
    # A third provider's class may hand on anything in the place of an amount.
    if isinstance(cost, Decimal) and cost.is_finite() and abs(cost.adjusted()) <= _DIGITS:
        return f"{cost:f}"
    return str(cost)[:LONGEST_CLAIM]
