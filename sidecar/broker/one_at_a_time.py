"""What must not go on twice at once, by name."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Hashable, Iterator
from contextlib import contextmanager


class OneAtATime:
    """Who comes second with the same name waits until the first one has finished."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._locks: dict[Hashable, threading.Lock] = {}
        self._wanted: Counter[Hashable] = Counter()

    @contextmanager
    def held(self, name: Hashable) -> Iterator[None]:
        with self._lock:
            lock = self._locks.setdefault(name, threading.Lock())
            self._wanted[name] += 1
        try:
            with lock:
                yield
        finally:
            with self._lock:
                self._wanted[name] -= 1
                if not self._wanted[name]:
                    del self._wanted[name], self._locks[name]
