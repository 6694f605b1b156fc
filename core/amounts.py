"""Format amounts of money for people."""

from __future__ import annotations

from decimal import Decimal


def plain_amount(amount: Decimal) -> str:
    """At least two decimals, never an exponent: `0.30`, `12.00`, `0.0042`."""
    text = format(amount.normalize(), "f")
    whole, _, fraction = text.partition(".")
    return f"{whole}.{fraction.ljust(2, '0')}"


def format_amount(amount: Decimal, currency: str) -> str:
    """`0.30 USD`."""
    return f"{plain_amount(amount)} {currency}"
