"""Values as JSON says them: times with a zone, amounts as decimal strings."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any


def moment(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat().replace("+00:00", "Z")


def plain(amount: Decimal) -> str:
    """At least two decimals, never an exponent: `0.30`, `12.00`, `0.0042`."""
    text = format(amount.normalize(), "f")
    whole, _, fraction = text.partition(".")
    return f"{whole}.{fraction.ljust(2, '0')}"


def money(amount: Decimal | None, currency: str) -> dict[str, str] | None:
    return None if amount is None else {"amount": plain(amount), "currency": currency}


def given(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Only what is there: optional members of a shape are left out, not null."""
    return {name: value for name, value in fields.items() if value is not None}
