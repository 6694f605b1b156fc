"""One skill's place in line: what is to be done for it is done in order, the newest save alone."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Executor

_log = logging.getLogger(__name__)
Work = Callable[[], None]


class Desk:
    """One of the loaders' threads is at it, or none. Work that waits is replaced by newer work of its kind."""

    def __init__(self, loaders: Executor) -> None:
        self._loaders = loaders
        self._lock = threading.Lock()
        self._waiting: dict[str, Work] = {}
        self._manned = False

    def put(self, kind: str, work: Work) -> None:
        with self._lock:
            self._waiting.pop(kind, None)
            self._waiting[kind] = work
            if self._manned:
                return
            self._manned = True
        try:
            self._loaders.submit(self._clear)
        except RuntimeError:
            # The sidecar is stopping.
            return

    def _clear(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._manned = False
                    return
                work = self._waiting.pop(next(iter(self._waiting)))
            try:
                work()
            except Exception:  # noqa: BLE001 - the boundary between skills: one's trouble is not the others'
                _log.exception("a skill could not be looked after")
