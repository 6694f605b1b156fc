"""Values in JSON: times with a zone, amounts as decimal strings."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Annotated, TypeVar, cast, overload

from pydantic import Field
from typing_extensions import TypedDict

from core.amounts import plain_amount

__all__ = ["Amount", "Moment", "MoneyShape", "moment", "money_shape", "plain_amount", "without_nulls"]

Moment = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
"""A time, RFC 3339 with a zone."""
Amount = Annotated[str, Field(json_schema_extra={"pattern": r"^-?[0-9]+(\.[0-9]+)?$"})]
"""A decimal string."""
Members = TypeVar("Members")


class MoneyShape(TypedDict):
    amount: Amount
    currency: str


@overload
def moment(at: datetime) -> Moment: ...
@overload
def moment(at: datetime | None) -> Moment | None: ...
def moment(at: datetime | None) -> Moment | None:
    return None if at is None else at.isoformat().replace("+00:00", "Z")


def money_shape(amount: Decimal | None, currency: str) -> MoneyShape | None:
    return None if amount is None else {"amount": plain_amount(amount), "currency": currency}


def without_nulls(members: Members) -> Members:
    """Remove members that are None: optional members of a shape are left out, not null."""
    there = cast("dict[str, object]", members)
    return cast(Members, {name: value for name, value in there.items() if value is not None})
