"""Rate limits of a skill's requests, by kind of request."""

from __future__ import annotations

import threading
import time
from collections import defaultdict, deque
from dataclasses import dataclass

from sidecar.broker.errors import RequestDenied


@dataclass(frozen=True)
class BrokerRateLimit:
    """At most so many within so many seconds."""

    most: int
    seconds: float


RATE_LIMITS = {
    "/http": BrokerRateLimit(600, 60),
    "/llm": BrokerRateLimit(120, 60),
    "/events": BrokerRateLimit(600, 60),
    "/notify": BrokerRateLimit(60, 3600),
    "/ask_agent": BrokerRateLimit(20, 86400),
    "/memory": BrokerRateLimit(120, 60),
    "/runs": BrokerRateLimit(120, 60),
    "/claim": BrokerRateLimit(600, 60),
    "/release": BrokerRateLimit(600, 60),
    "/": BrokerRateLimit(600, 60),
    "events": BrokerRateLimit(3000, 60),
    "bytes": BrokerRateLimit(32 * 1024 * 1024, 60),
    "refusals": BrokerRateLimit(200, 3600),
}
"""Requests by route (`/` for unknown ones), and events, bytes and refusals, of which one request may cause many."""


class _RecentRequests:
    """Amounts counted within the time of a limit, with their sum."""

    def __init__(self) -> None:
        self._each: deque[tuple[float, int]] = deque()
        self._sum = 0

    def drop_before(self, before: float) -> None:
        """Drop the amounts counted up to this moment."""
        while self._each and self._each[0][0] <= before:
            self._sum -= self._each.popleft()[1]

    def take(self, amount: int, most: int, now: float) -> bool:
        """Add an amount, unless that exceeds `most`."""
        if self._sum + amount > most:
            return False
        self._each.append((now, amount))
        self._sum += amount
        return True


class BrokerRateLimits:
    """Rate limits of all skills, counted in memory: a restart of the sidecar starts from zero."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._recent: defaultdict[tuple[str, str], _RecentRequests] = defaultdict(_RecentRequests)

    def check(self, counted_as: str, kind: str, amount: int = 1) -> None:
        """Count an amount; raises RequestDenied when it is too much, and then does not count it."""
        if not self.allows(counted_as, kind, amount):
            limit, words = RATE_LIMITS[kind], f"requests {kind}" if kind.startswith("/") else kind
            raise RequestDenied("limit", f"more than {limit.most} {words} within {limit.seconds:g} s")

    def allows(self, counted_as: str, kind: str, amount: int = 1) -> bool:
        """Count an amount, unless it is too much; return whether it was counted."""
        limit, now = RATE_LIMITS[kind], time.monotonic()
        with self._lock:
            recent = self._recent[counted_as, kind]
            recent.drop_before(now - limit.seconds)
            return recent.take(amount, limit.most, now)
