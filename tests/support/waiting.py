"""Waiting for something to become true, with an end."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def until(what: str, look: Callable[[], T], seconds: float = 30, every: float = 0.05) -> T:
    """What `look` returns once that is true; an AssertionError that names `what` after so many seconds."""
    deadline = time.monotonic() + seconds
    while not (seen := look()):
        assert time.monotonic() < deadline, f"not seen in {seconds:.0f} s: {what}"
        time.sleep(every)
    return seen
