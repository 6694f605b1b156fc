"""Slots for calls of the engine, so that runs that hang take neither all threads nor all the time.

The engine is told how many calls of a function it may make at once: the rest waits there, and costs no attempt.
What the engine sends nevertheless waits here for a while.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import takewhile
from typing import Any

from sidecar.child.limits import MOST_CALLS_A_SKILL

SLOTS_A_SKILL = MOST_CALLS_A_SKILL
"""Of one skill, which may have as many more wait. All runs of a version share the processes it may have."""
SLOTS_IN_ALL = 96
FEWEST_SLOTS = 2
"""What a skill may have when three quarters of all are taken, and from half of them on when its calls take long."""
MOST_WAITING = 48
SERVER_THREADS = SLOTS_IN_ALL + MOST_WAITING + 16
"""Of the server: the last ones are for whoever asks how we are, and for registrations."""
_WAIT_SECONDS = 60.0
_LONG_SECONDS = 30.0
# A third limit of concurrency is one more than an engine takes.
_MOST_LIMITS = 2


class _Waiter:
    def __init__(self, stem: str) -> None:
        self.stem = stem


class CallSlots:
    """Taken by skill; some wait, in order, and the others are turned away."""

    def __init__(
        self,
        *,
        each: int = SLOTS_A_SKILL,
        most: int = SLOTS_IN_ALL,
        waiting: int = MOST_WAITING,
        wait: float = _WAIT_SECONDS,
        long: float = _LONG_SECONDS,
    ) -> None:
        self._each = each
        self._most = most
        self._most_waiting = waiting
        self._wait = wait
        self._long = long
        self._free = threading.Condition()
        self._taken: dict[str, list[float]] = {}
        self._waiting: list[_Waiter] = []

    @contextmanager
    def taken(self, stem: str) -> Iterator[bool]:
        """Whether there is a place for a call of this skill, which it has until the end."""
        since = self._take(stem)
        try:
            yield since is not None
        finally:
            if since is not None:
                self._leave(stem, since)

    def _take(self, stem: str) -> float | None:
        """Since when it has a place."""
        with self._free:
            if not self._is_next(waiter := _Waiter(stem)) and not self._waits(waiter):
                return None
            since = time.monotonic()
            self._taken.setdefault(stem, []).append(since)
            return since

    def _waits(self, waiter: _Waiter) -> bool:
        """Until it is its turn; False when it may not wait, or has waited for too long."""
        of_skill = sum(one.stem == waiter.stem for one in self._waiting)
        if len(self._waiting) >= self._most_waiting or of_skill >= self._each:
            return False
        until = time.monotonic() + self._wait
        self._waiting.append(waiter)
        try:
            while not self._is_next(waiter):
                if not self._free.wait(until - time.monotonic()):
                    return False
            return True
        finally:
            self._waiting.remove(waiter)
            # Who came later may be next now.
            self._free.notify_all()

    def _leave(self, stem: str, since: float) -> None:
        with self._free:
            self._taken[stem].remove(since)
            if not self._taken[stem]:
                del self._taken[stem]
            self._free.notify_all()

    def _is_next(self, waiter: _Waiter) -> bool:
        """Whether there is a place for it, and for nobody who waits before it."""
        before = takewhile(lambda one: one is not waiter, self._waiting)
        return self._may(waiter.stem) and not any(self._may(one.stem) for one in before)

    def _may(self, stem: str) -> bool:
        all_taken = sum(len(held) for held in self._taken.values())
        of_skill = len(self._taken.get(stem, ()))
        return all_taken < self._most and of_skill < self._allowed(stem, all_taken)

    def _allowed(self, stem: str, all_taken: int) -> int:
        takes_long = any(time.monotonic() - since >= self._long for since in self._taken.get(stem, ()))
        if all_taken >= self._most * 3 // 4 or (takes_long and all_taken >= self._most // 2):
            return min(FEWEST_SLOTS, self._each)
        return self._each


def limit_concurrency(function: Mapping[str, Any], functions: int) -> dict[str, Any]:
    """The registration of one of so many functions, with a share of the skill's places as its limit of concurrency.

    One with as many limits of its own as the engine takes keeps those.
    """
    share = max(FEWEST_SLOTS, SLOTS_A_SKILL // functions)
    own = list(function.get("concurrency") or ())
    whole = [one for one in own if one.get("key") is None]
    limits = [one for one in own if one.get("key") is not None]
    if len(limits) < _MOST_LIMITS:
        limit = min([share, *(int(one["limit"]) for one in whole if one.get("limit"))])
        limits.append({"limit": limit, "scope": "fn"})
    return {**function, "concurrency": limits}
