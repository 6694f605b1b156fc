"""Amounts of money, formatted for people."""

from __future__ import annotations

from decimal import Decimal


def plain_amount(amount: Decimal) -> str:
    """Write an amount with at least two decimals and no exponent: `0.30`, `12.00`, `0.0042`."""
    text = format(amount.normalize(), "f")
    whole, _, fraction = text.partition(".")
    return f"{whole}.{fraction.ljust(2, '0')}"


def format_amount(amount: Decimal, currency: str) -> str:
    """Write an amount with its currency: `0.30 USD`."""
    return f"{plain_amount(amount)} {currency}"
