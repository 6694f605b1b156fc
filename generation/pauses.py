"""How long to wait before a provider is asked again: a quarter of the order's age, within bounds."""

from __future__ import annotations

import math
from datetime import timedelta

LONGEST = 60


def pause(age: timedelta, first: float) -> int:
    """Whole seconds, at least one: `first` for a young order, growing to a minute.

    The engine counts in whole seconds, and a pause below one would be none.
    """
    return max(1, math.ceil(min(LONGEST, max(first, age.total_seconds() / 4))))
