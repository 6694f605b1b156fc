"""Column types that mean the same on SQLite and PostgreSQL."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import ROUND_HALF_UP, Decimal

import sqlalchemy as sa
from sqlalchemy.engine import Dialect

_MILLIONTHS = Decimal(1_000_000)


class Utc(sa.TypeDecorator[datetime]):
    """An aware datetime, kept in UTC; a naive one is refused."""

    impl = sa.DateTime
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> sa.types.TypeEngine[datetime]:
        return dialect.type_descriptor(sa.DateTime(timezone=dialect.name == "postgresql"))

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f"a stored time needs a zone, not {value!r}")
        moment = value.astimezone(UTC)
        return moment if dialect.name == "postgresql" else moment.replace(tzinfo=None)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class MoneyType(sa.TypeDecorator[Decimal]):
    """An exact amount, kept as whole millionths so that the database can add and compare it."""

    impl = sa.BigInteger
    cache_ok = True

    def process_bind_param(self, value: Decimal | int | None, dialect: Dialect) -> int | None:
        if value is None:
            return None
        return int((Decimal(value) * _MILLIONTHS).to_integral_value(rounding=ROUND_HALF_UP))

    def process_result_value(self, value: int | Decimal | None, dialect: Dialect) -> Decimal | None:
        # SUM over bigint is numeric on PostgreSQL, so a Decimal of whole millionths may arrive here.
        return None if value is None else (Decimal(int(value)) / _MILLIONTHS).normalize() + Decimal(0)
