"""Pages of lists, `{items, next}`. A cursor is an opaque name of the place where a page ended."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Generic, TypeVar

from flask import request
from typing_extensions import TypedDict

from core.errors import InvalidError

DEFAULT_PAGE = 50
LARGEST_PAGE = 200
PAGING_QUERY = {
    "limit": f"how many at most: {DEFAULT_PAGE} by default, up to {LARGEST_PAGE}",
    "cursor": "where the list goes on: the `next` of the page before",
}
"""The query parameters of every list."""
PagePlace = tuple[datetime, str]
T = TypeVar("T")
Item = TypeVar("Item")


class ListPage(TypedDict, Generic[Item]):
    """One page of a list; `next` is the cursor of what follows, or null at the end."""

    items: list[Item]
    next: str | None


def page_size() -> int:
    """Return `limit=` of the request: 50 by default, 200 at most."""
    raw = request.args.get("limit", str(DEFAULT_PAGE))
    if not raw.isascii() or not raw.isdigit() or int(raw[:6]) < 1:
        raise InvalidError("limit is a number from 1 to 200")
    return min(int(raw[:6]), LARGEST_PAGE)


def requested_place(name: str = "cursor") -> PagePlace | None:
    """Return the place that the query's cursor `name` stands for; None without one."""
    raw = request.args.get(name)
    if not raw:
        return None
    try:
        at, last_id = json.loads(base64.urlsafe_b64decode(raw.encode("ascii", "strict") + b"=="))
        found = datetime.fromisoformat(at).astimezone(UTC), str(last_id)
    except (ValueError, TypeError, OverflowError, RecursionError, binascii.Error):
        found = None
    if found is None or not found[1].isprintable():
        raise InvalidError(f"{name} is not one of ours: leave it out to begin at the start")
    return found


def encode_cursor(at: datetime, last_id: str) -> str:
    """Return the cursor of the place behind this item."""
    packed = json.dumps([at.isoformat(), last_id]).encode()
    return base64.urlsafe_b64encode(packed).decode().rstrip("=")


def cut_page(
    rows: Sequence[T], size: int, show: Callable[[T], Item], where: Callable[[T], PagePlace]
) -> ListPage[Item]:
    """Make a page of the first `size` rows. `rows` has one more if there is a next page."""
    on_page = rows[:size]
    following = encode_cursor(*where(on_page[-1])) if len(rows) > size else None
    return {"items": [show(row) for row in on_page], "next": following}


def wants_newest() -> bool:
    """Return whether the query wants the end of the list (`newest=1` or `before=` a place), not its start."""
    return "newest" in request.args or "before" in request.args
