"""Work of a skill that may take long, beside everything else that is done for it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

_log = logging.getLogger(__name__)
_PAUSE = 5.0


class Aside:
    """One piece of work at a time, in a thread of its own; `done` is called after each."""

    def __init__(self, stem: str, done: Callable[[], None]) -> None:
        self._stem = stem
        self._done = done
        self._lock = threading.Lock()
        self._busy = False

    def begin(self, work: Callable[[], object]) -> None:
        """Begin it, unless another is under way: after that one somebody looks again."""
        with self._lock:
            if self._busy:
                return
            self._busy = True
        threading.Thread(target=self._run, args=(work,), name=f"aside-{self._stem}", daemon=True).start()

    def _run(self, work: Callable[[], object]) -> None:
        pause = 0.0
        try:
            work()
        except Exception:  # noqa: BLE001 - the boundary between skills: what it raises is seen in the log
            _log.exception("skill %s: what was tried could not be; it is tried again", self._stem)
            pause = _PAUSE
        timer = threading.Timer(pause, self._over)
        timer.daemon = True
        timer.start()

    def _over(self) -> None:
        with self._lock:
            self._busy = False
        self._done()
