"""How many skills are looked after at once."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Lanes:
    """So many pieces of work go on at a time; one that has come to wait for somebody else lets the next one pass."""

    def __init__(self, count: int) -> None:
        self._free = threading.Semaphore(count)
        self._thread = threading.local()

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Have a lane, as soon as there is one, until the end or until this thread steps aside."""
        self._free.acquire()
        self._thread.has_lane = True
        try:
            yield
        finally:
            self.step_aside()

    def step_aside(self) -> None:
        """Give back the lane of this thread, if it has one."""
        if getattr(self._thread, "has_lane", False):
            self._thread.has_lane = False
            self._free.release()
