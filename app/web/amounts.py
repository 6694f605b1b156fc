"""Amounts that people and programs send."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated

from pydantic import Field

Sum = Annotated[Decimal, Field(ge=0, le=1_000_000, decimal_places=6)]
"""A decimal string of zero or more, exact to the millionth."""
