"""Progress of an order: what to do next, and how long to wait before the provider is asked again."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from core.database import Database
from generation.orders.order import Order, get_order
from generation.orders.states import OrderState

LONGEST_PAUSE = 60


def compute_pause(age: timedelta, first: float) -> int:
    """Whole seconds, at least one: `first` for a young order, growing to a minute.

    The engine counts in whole seconds, and a pause below one would be none.
    """
    return max(1, math.ceil(min(LONGEST_PAUSE, max(first, age.total_seconds() / 4))))


NextAction = Literal["wait", "settle", "end"]


@dataclass(frozen=True)
class OrderProgress:
    """`seen` is the time of the newest news that this look knows of; what came after it is new."""

    next: NextAction
    state: str
    pause: int
    seen: str

    def to_output(self) -> dict[str, Any]:
        return vars(self).copy()


def progress_of(order: Order, now: datetime, first_pause: float, seen: datetime | None = None) -> OrderProgress:
    """What follows from a row."""
    following: NextAction = "settle" if order.has_outputs_to_settle else "wait" if order.open else "end"
    since = order.submitted_at or order.created_at
    wait = compute_pause(now - since, first_pause)
    if order.state is OrderState.ORDERED and order.not_before is not None:
        wait = max(wait, math.ceil((order.not_before - now).total_seconds()))
    return OrderProgress(following, order.state.value, wait, (seen or order.news_at).isoformat())


def read_progress(database: Database, workspace_id: str, order_id: str, first_pause: float) -> OrderProgress:
    """The order as its row stands."""
    with database.reading(workspace_id) as scope:
        return progress_of(get_order(scope, order_id), scope.now, first_pause)
