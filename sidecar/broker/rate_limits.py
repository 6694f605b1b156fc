"""Rate limits of a skill's requests, for each kind of request."""

from __future__ import annotations

import threading
import time
from collections import defaultdict, deque
from dataclasses import dataclass

from sidecar.broker.errors import RequestDenied


@dataclass(frozen=True)
class BrokerRateLimit:
    """At most so many in so many seconds."""

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
"""By door, and `/` for where there is none; and of what a request holds, or comes to, there may be many in one."""


class _RecentRequests:
    """What there was within the time of a limit."""

    def __init__(self) -> None:
        self._each: deque[tuple[float, int]] = deque()
        self._sum = 0

    def forget(self, before: float) -> None:
        while self._each and self._each[0][0] <= before:
            self._sum -= self._each.popleft()[1]

    def takes(self, amount: int, most: int, now: float) -> bool:
        if self._sum + amount > most:
            return False
        self._each.append((now, amount))
        self._sum += amount
        return True


class BrokerRateLimits:
    """Counts in this process: a restart of the sidecar begins anew."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: defaultdict[tuple[str, str], _RecentRequests] = defaultdict(_RecentRequests)

    def check(self, who: str, what: str, amount: int = 1) -> None:
        """Count so many; raises Denied when those were too many, which do not count."""
        if not self.allows(who, what, amount):
            limit, said = RATE_LIMITS[what], f"requests {what}" if what.startswith("/") else what
            raise RequestDenied("limit", f"more than {limit.most} {said} within {limit.seconds:g} s")

    def allows(self, who: str, what: str, amount: int = 1) -> bool:
        limit, now = RATE_LIMITS[what], time.monotonic()
        with self._lock:
            seen = self._seen[who, what]
            seen.forget(now - limit.seconds)
            return seen.takes(amount, limit.most, now)
