"""Work queues of skills: each skill's work in order, few skills at once, and long work in the background."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager

from core.errors import LoopwrightError


class WorkerSlots:
    """So many pieces of work go on at a time; one that has come to wait for somebody else lets the next one pass."""

    def __init__(self, count: int) -> None:
        self._free = threading.Semaphore(count)
        self._thread = threading.local()

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Have a lane, as soon as there is one, until the end or until this thread steps aside."""
        self._free.acquire()
        self._thread.has_lane = True
        try:
            yield
        finally:
            self.step_aside()

    def step_aside(self) -> None:
        """Give back the lane of this thread, if it has one."""
        if getattr(self._thread, "has_lane", False):
            self._thread.has_lane = False
            self._free.release()


_log = logging.getLogger(__name__)
QueuedWork = Callable[[], None]
_FIRST_PAUSE, _LONGEST_PAUSE = 2.0, 60.0


class SkillWorkQueue:
    """One of the loaders' threads is at it, or none. Work that waits is replaced by newer work of its kind."""

    def __init__(self, loaders: Executor, lanes: WorkerSlots) -> None:
        self._loaders = loaders
        self._lanes = lanes
        self._lock = threading.Lock()
        self._waiting: dict[str, QueuedWork] = {}
        self._manned = False
        self._failures: dict[str, int] = {}

    def put(self, kind: str, work: QueuedWork) -> None:
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

    def _later(self, kind: str, work: QueuedWork) -> None:
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


_background_log = logging.getLogger(__name__)
_PAUSE_AFTER_FAILURE = 5.0


class BackgroundWork:
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
            _background_log.exception("skill %s: what was tried could not be; it is tried again", self._stem)
            pause = _PAUSE_AFTER_FAILURE
        timer = threading.Timer(pause, self._over)
        timer.daemon = True
        timer.start()

    def _over(self) -> None:
        with self._lock:
            self._busy = False
        self._done()
