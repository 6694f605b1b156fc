"""One skill's place in line: what is to be done for it is done in order, the newest save alone."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Executor

from core.errors import LoopwrightError
from sidecar.lanes import Lanes

_log = logging.getLogger(__name__)
Work = Callable[[], None]
_FIRST_PAUSE, _LONGEST_PAUSE = 2.0, 60.0


class Desk:
    """One of the loaders' threads is at it, or none. Work that waits is replaced by newer work of its kind."""

    def __init__(self, loaders: Executor, lanes: Lanes) -> None:
        self._loaders = loaders
        self._lanes = lanes
        self._lock = threading.Lock()
        self._waiting: dict[str, Work] = {}
        self._manned = False
        self._failures: dict[str, int] = {}

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
                kind = next(iter(self._waiting))
                work = self._waiting.pop(kind)
            try:
                with self._lanes.taken():
                    work()
            except LoopwrightError as error:
                _log.warning("%s: %s; it is tried again", kind, error)
                self._later(kind, work)
            except Exception:  # noqa: BLE001 - the boundary between skills: one's trouble is not the others'
                _log.exception("a skill could not be looked after; it is tried again")
                self._later(kind, work)
            else:
                self._failures.pop(kind, None)

    def _later(self, kind: str, work: Work) -> None:
        """The database, the engine or the machine may have been away: what is not done is done later."""
        failed = self._failures[kind] = self._failures.get(kind, 0) + 1

        def again() -> None:
            with self._lock:
                overtaken = kind in self._waiting
            if not overtaken and self._failures.get(kind) == failed:
                self.put(kind, work)

        timer = threading.Timer(min(_LONGEST_PAUSE, _FIRST_PAUSE * 2 ** (failed - 1)), again)
        timer.daemon = True
        timer.start()
