"""Waiting for what another process does."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def eventually(look: Callable[[], T | None], *, within: float = 20) -> T:
    """The first truthy result of `look`; fails when none comes in time."""
    began = time.monotonic()
    while True:
        found = look()
        if found:
            return found
        waited = time.monotonic() - began
        assert waited < within, f"nothing came within {within} s"
        # To look costs the engine time that its runs need: the longer it takes, the more rarely.
        time.sleep(max(0.01, min(waited / 10, 0.1)))
