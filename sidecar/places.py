"""How many calls of the engine are answered at once, so that runs that hang take neither all threads nor all the time.

The engine is told what a function may have at once: what is beyond it waits there, and costs no attempt. What the
engine sends nevertheless waits here for a while.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

EACH = 8
"""Of one skill. All runs of a version share the processes it may have, and a run may have some."""
MOST = 96
FEW = 2
"""What a skill may have when half of all are taken."""
WAITING = 48
THREADS = MOST + WAITING + 16
"""Of the server: the last ones are for whoever asks how we are, and for registrations."""
_WAIT_SECONDS = 60.0
# A third limit of concurrency is one more than an engine takes.
_MOST_LIMITS = 2


class Places:
    """Taken by skill; some wait, and the others are turned away."""

    def __init__(self, *, each: int = EACH, most: int = MOST, waiting: int = WAITING, wait: float = _WAIT_SECONDS):
        self._each = each
        self._most = most
        self._most_waiting = waiting
        self._wait = wait
        self._free = threading.Condition()
        self._taken: Counter[str] = Counter()
        self._waiting = 0

    @contextmanager
    def taken(self, stem: str) -> Iterator[bool]:
        """Whether there is a place for a call of this skill, which it has until the end."""
        has_place = self._take(stem)
        try:
            yield has_place
        finally:
            if has_place:
                self._leave(stem)

    def _take(self, stem: str) -> bool:
        until = time.monotonic() + self._wait
        with self._free:
            if not self._may(stem):
                if self._waiting >= self._most_waiting:
                    return False
                self._waiting += 1
                try:
                    while not self._may(stem):
                        if not self._free.wait(until - time.monotonic()):
                            return False
                finally:
                    self._waiting -= 1
            self._taken[stem] += 1
            return True

    def _leave(self, stem: str) -> None:
        with self._free:
            self._taken[stem] -= 1
            if not self._taken[stem]:
                del self._taken[stem]
            self._free.notify_all()

    def _may(self, stem: str) -> bool:
        all_taken, of_skill = self._taken.total(), self._taken[stem]
        if all_taken >= self._most // 2:
            return all_taken < self._most and of_skill < min(FEW, self._each)
        return of_skill < self._each


def limited(function: Mapping[str, Any], functions: int) -> dict[str, Any]:
    """The registration of one of so many functions, with a share of the skill's places as its limit of concurrency.

    One with as many limits of its own as the engine takes keeps those.
    """
    share = max(FEW, EACH // functions)
    own = list(function.get("concurrency") or ())
    whole = [one for one in own if one.get("key") is None]
    limits = [one for one in own if one.get("key") is not None]
    if len(limits) < _MOST_LIMITS:
        limit = min([share, *(int(one["limit"]) for one in whole if one.get("limit"))])
        limits.append({"limit": limit, "scope": "fn"})
    return {**function, "concurrency": limits}
