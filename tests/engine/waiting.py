"""Waiting for what another process does."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def eventually(look: Callable[[], T | None], *, within: float = 20) -> T:
    """The first truthy result of `look`; fails when none comes in time."""
    deadline = time.monotonic() + within
    while True:
        found = look()
        if found:
            return found
        assert time.monotonic() < deadline, f"nothing came within {within} s"
        time.sleep(0.01)
