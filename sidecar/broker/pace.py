"""How often a skill may ask for each kind of thing."""

from __future__ import annotations

import threading
import time
from collections import deque
from dataclasses import dataclass

from sidecar.broker.denied import Denied


@dataclass(frozen=True)
class Limit:
    """At most so many in so many seconds."""

    most: int
    seconds: float


LIMITS = {
    "/http": Limit(600, 60),
    "/llm": Limit(120, 60),
    "/events": Limit(600, 60),
    "/notify": Limit(60, 3600),
    "/ask_agent": Limit(20, 86400),
    "/memory": Limit(120, 60),
    "/runs": Limit(120, 60),
    "/claim": Limit(600, 60),
    "/release": Limit(600, 60),
}


class Pace:
    """Counts in this process: a restart of the sidecar begins anew."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: dict[tuple[str, str], deque[float]] = {}

    def check(self, who: str, path: str) -> None:
        """Count one request; raises Denied when there were too many."""
        limit, now = LIMITS[path], time.monotonic()
        with self._lock:
            seen = self._seen.setdefault((who, path), deque())
            while seen and seen[0] <= now - limit.seconds:
                seen.popleft()
            if len(seen) >= limit.most:
                raise Denied("limit", f"more than {limit.most} requests {path} within {limit.seconds:g} s")
            seen.append(now)
