"""Progress of an order: what to do next, and how long to wait before asking the provider again."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from core.database import Database
from generation.orders.order import Order, get_order
from generation.orders.states import OrderState

NextAction = Literal["wait", "settle", "end"]
LONGEST_PAUSE = 60


def compute_pause(age: timedelta, first: float) -> int:
    """Return the pause in whole seconds: `first` for a young order, growing to a minute.

    It is at least one second: the engine counts in whole seconds, and would not wait at all for less.
    """
    return max(1, math.ceil(min(LONGEST_PAUSE, max(first, age.total_seconds() / 4))))


@dataclass(frozen=True)
class OrderProgress:
    """What to do next with an order. `seen` is the time of the newest news that this includes."""

    next: NextAction
    state: str
    pause: int
    seen: str

    def to_output(self) -> dict[str, Any]:
        """Return the output of a step."""
        return vars(self).copy()


def progress_of(order: Order, now: datetime, first_pause: float, seen: datetime | None = None) -> OrderProgress:
    """Decide what to do next with an order."""
    following: NextAction = "settle" if order.has_outputs_to_settle else "wait" if order.open else "end"
    since = order.submitted_at or order.created_at
    wait = compute_pause(now - since, first_pause)
    if order.state is OrderState.ORDERED and order.not_before is not None:
        wait = max(wait, math.ceil((order.not_before - now).total_seconds()))
    return OrderProgress(following, order.state.value, wait, (seen or order.news_at).isoformat())


def read_progress(database: Database, workspace_id: str, order_id: str, first_pause: float) -> OrderProgress:
    """Read an order and decide what to do next with it."""
    with database.reading(workspace_id) as scope:
        return progress_of(get_order(scope, order_id), scope.now, first_pause)
