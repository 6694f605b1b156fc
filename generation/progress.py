"""What a look at an order found: what to do next, and how long to wait before."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from core.database import Database
from generation.orders import Order, get
from generation.pauses import pause
from generation.states import State

Next = Literal["wait", "settle", "end"]


@dataclass(frozen=True)
class Progress:
    """`seen` is the time of the newest news that this look knows of; what came after it is new."""

    next: Next
    state: str
    pause: int
    seen: str

    def stored(self) -> dict[str, Any]:
        return vars(self).copy()


def progress_of(order: Order, now: datetime, first_pause: float, seen: datetime | None = None) -> Progress:
    """What follows from a row."""
    following: Next = "settle" if order.made else "wait" if order.open else "end"
    since = order.submitted_at or order.created_at
    wait = pause(now - since, first_pause)
    if order.state is State.ORDERED and order.not_before is not None:
        wait = max(wait, math.ceil((order.not_before - now).total_seconds()))
    return Progress(following, order.state.value, wait, (seen or order.news_at).isoformat())


def look(database: Database, workspace_id: str, order_id: str, first_pause: float) -> Progress:
    """The order as its row stands."""
    with database.reading(workspace_id) as scope:
        return progress_of(get(scope, order_id), scope.now, first_pause)
