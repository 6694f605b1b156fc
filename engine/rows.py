"""The type of a row whose columns the type checker does not know."""

from typing import Any, TypeAlias

from sqlalchemy import Row as _Row

Row: TypeAlias = _Row[Any]
