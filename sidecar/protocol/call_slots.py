"""Slots for calls of the engine, so that hanging runs take neither all threads nor all the time.

A function is registered with a limit on its calls at a time: further runs wait at the engine and lose no attempt. Calls
that the engine sends nevertheless wait here for a while.
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
"""Calls of one skill at a time; as many more may wait."""
SLOTS_IN_ALL = 96
FEWEST_SLOTS = 2
"""Slots of a skill when three quarters of all slots are taken, or half of them and its calls take long."""
MOST_WAITING = 48
SERVER_THREADS = SLOTS_IN_ALL + MOST_WAITING + 16
"""Threads of the server: the last ones answer health checks and registrations."""
_WAIT_SECONDS = 60.0
_LONG_SECONDS = 30.0
# The engine accepts two limits of concurrency for a function.
_MOST_LIMITS = 2


class _Waiter:
    """A call that asks for a slot."""

    def __init__(self, stem: str) -> None:
        self.stem = stem


class CallSlots:
    """Slots for calls, limited for each skill and in all. Some calls wait in order, further ones are turned away."""

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
    def hold(self, stem: str) -> Iterator[bool]:
        """Hold a slot for a call of the skill; yields False when there is none."""
        since = self._take(stem)
        try:
            yield since is not None
        finally:
            if since is not None:
                self._give_back(stem, since)

    def _take(self, stem: str) -> float | None:
        """Take a slot and return the time; None when there is none."""
        with self._free:
            if not self._is_next(waiter := _Waiter(stem)) and not self._wait_turn(waiter):
                return None
            since = time.monotonic()
            self._taken.setdefault(stem, []).append(since)
            return since

    def _wait_turn(self, waiter: _Waiter) -> bool:
        """Wait until it is this call's turn; False when too many wait already or it waited too long."""
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
            # A later one may be next now.
            self._free.notify_all()

    def _give_back(self, stem: str, since: float) -> None:
        with self._free:
            self._taken[stem].remove(since)
            if not self._taken[stem]:
                del self._taken[stem]
            self._free.notify_all()

    def _is_next(self, waiter: _Waiter) -> bool:
        """Return whether there is a slot for this call and for no call that has waited longer."""
        before = takewhile(lambda one: one is not waiter, self._waiting)
        return self._has_room(waiter.stem) and not any(self._has_room(one.stem) for one in before)

    def _has_room(self, stem: str) -> bool:
        all_taken = sum(len(held) for held in self._taken.values())
        of_skill = len(self._taken.get(stem, ()))
        return all_taken < self._most and of_skill < self._allowed(stem, all_taken)

    def _allowed(self, stem: str, all_taken: int) -> int:
        """Return how many slots the skill may hold now, see `FEWEST_SLOTS`."""
        takes_long = any(time.monotonic() - since >= self._long for since in self._taken.get(stem, ()))
        if all_taken >= self._most * 3 // 4 or (takes_long and all_taken >= self._most // 2):
            return min(FEWEST_SLOTS, self._each)
        return self._each


def limit_concurrency(function: Mapping[str, Any], functions: int) -> dict[str, Any]:
    """Return the registration of a function with its share of the skill's slots as its limit of concurrency.

    `functions` is how many functions the skill has. A function with as many keyed limits as the engine accepts keeps
    those.
    """
    share = max(FEWEST_SLOTS, SLOTS_A_SKILL // functions)
    own = list(function.get("concurrency") or ())
    whole = [one for one in own if one.get("key") is None]
    limits = [one for one in own if one.get("key") is not None]
    if len(limits) < _MOST_LIMITS:
        limit = min([share, *(int(one["limit"]) for one in whole if one.get("limit"))])
        limits.append({"limit": limit, "scope": "fn"})
    return {**function, "concurrency": limits}
