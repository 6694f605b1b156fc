"""Waiting for something to become true, with an end."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


MOST_BETWEEN = 0.25


def until(
    what: str, look: Callable[[], T], seconds: float = 30, every: float = 0.05, most_between: float = MOST_BETWEEN
) -> T:
    """Wait until `look` returns something true, and return that.

    Raises an AssertionError that names `what` after `seconds`. It looks first after `every` seconds and then less and
    less often, because looking slows down the processes that it waits for. Where a change must be seen quickly, pass
    `most_between` as short as `every`.
    """
    began = time.monotonic()
    while not (seen := look()):
        waited = time.monotonic() - began
        assert waited < seconds, f"not seen in {seconds:.0f} s: {what}"
        time.sleep(max(every, min(waited / 10, most_between)))
    return seen
