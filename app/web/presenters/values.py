"""Values as JSON says them: times with a zone, amounts as decimal strings."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

from core.amounts import plain

__all__ = ["given", "moment", "money", "plain"]


def moment(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat().replace("+00:00", "Z")


def money(amount: Decimal | None, currency: str) -> dict[str, str] | None:
    return None if amount is None else {"amount": plain(amount), "currency": currency}


def given(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Only what is there: optional members of a shape are left out, not null."""
    return {name: value for name, value in fields.items() if value is not None}
