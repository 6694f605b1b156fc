"""Changing a source in places instead of writing all of it anew."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict, Field

from core.errors import InvalidError


class Edit(BaseModel):
    """Put `replace` where `find` stands."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    find: str = Field(min_length=1, max_length=20_000)
    replace: str = Field(max_length=100_000)


def edited(source: str, edits: Sequence[Edit]) -> str:
    """All of them, one after another, or none: raises InvalidError unless each `find` stands there exactly once."""
    for n, edit in enumerate(edits, start=1):
        count = source.count(edit.find)
        if count != 1:
            what = "is not in the source" if count == 0 else f"stands there {count} times"
            raise InvalidError(f"edit {n}: {edit.find[:80]!r} {what}; nothing was changed: quote more of it, exactly")
        source = source.replace(edit.find, edit.replace)
    return source
