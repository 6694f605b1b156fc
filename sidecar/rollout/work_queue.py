"""Work queues of skills: each skill's work in order, few skills at a time, and long work in the background."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager

from core.errors import LoopwrightError

_log = logging.getLogger(__name__)
QueuedWork = Callable[[], None]
_FIRST_PAUSE, _LONGEST_PAUSE = 2.0, 60.0
_PAUSE_AFTER_FAILURE = 5.0


class WorkerSlots:
    """A limit on how many pieces of work run at a time. Work that has to wait for something else gives its slot up."""

    def __init__(self, count: int) -> None:
        self._free = threading.Semaphore(count)
        self._thread = threading.local()

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Wait for a slot and hold it until the end of the block, or until this thread steps aside."""
        self._free.acquire()
        self._thread.has_slot = True
        try:
            yield
        finally:
            self.step_aside()

    def step_aside(self) -> None:
        """Give back the slot of this thread, if it has one."""
        if getattr(self._thread, "has_slot", False):
            self._thread.has_slot = False
            self._free.release()


class SkillWorkQueue:
    """The work of one skill, done in order by at most one of the loaders' threads.

    Work that waits is replaced by newer work of the same kind. Work that fails is tried again after a growing pause.
    """

    def __init__(self, loaders: Executor, slots: WorkerSlots) -> None:
        self._loaders = loaders
        self._slots = slots
        self._lock = threading.Lock()
        self._waiting: dict[str, QueuedWork] = {}
        self._is_running = False
        self._failures: dict[str, int] = {}

    def put(self, kind: str, work: QueuedWork) -> None:
        """Queue the work, in place of work of this kind that has not begun."""
        with self._lock:
            self._waiting.pop(kind, None)
            self._waiting[kind] = work
            if self._is_running:
                return
            self._is_running = True
        try:
            self._loaders.submit(self._work_off)
        except RuntimeError:
            # The sidecar is stopping.
            return

    def _work_off(self) -> None:
        """Do the queued work until none is left; work that fails is queued again later."""
        while True:
            with self._lock:
                if not self._waiting:
                    self._is_running = False
                    return
                kind = next(iter(self._waiting))
                work = self._waiting.pop(kind)
            try:
                with self._slots.hold():
                    work()
            except LoopwrightError as error:
                _log.warning("%s: %s; it is tried again", kind, error)
                self._retry_later(kind, work)
            except Exception:  # noqa: BLE001 - the boundary between skills: one skill's failure must not stop the others
                _log.exception("work for a skill failed (%s); it is tried again", kind)
                self._retry_later(kind, work)
            else:
                self._failures.pop(kind, None)

    def _retry_later(self, kind: str, work: QueuedWork) -> None:
        """Queue the work again after a pause: the database, the engine or the machine may have been away."""
        failed = self._failures[kind] = self._failures.get(kind, 0) + 1

        def retry() -> None:
            with self._lock:
                is_replaced = kind in self._waiting
            if not is_replaced and self._failures.get(kind) == failed:
                self.put(kind, work)

        timer = threading.Timer(min(_LONGEST_PAUSE, _FIRST_PAUSE * 2 ** (failed - 1)), retry)
        timer.daemon = True
        timer.start()


class BackgroundWork:
    """Long work of one skill, one piece at a time in a separate thread; `done` is called after each."""

    def __init__(self, stem: str, done: Callable[[], None]) -> None:
        self._stem = stem
        self._done = done
        self._lock = threading.Lock()
        self._busy = False

    def start(self, work: Callable[[], object]) -> None:
        """Start the work, unless other work is under way: `done` is called after that, and the caller decides again."""
        with self._lock:
            if self._busy:
                return
            self._busy = True
        threading.Thread(target=self._run, args=(work,), name=f"background-{self._stem}", daemon=True).start()

    def _run(self, work: Callable[[], object]) -> None:
        pause = 0.0
        try:
            work()
        except Exception:  # noqa: BLE001 - the boundary between skills: the log shows what was raised
            _log.exception("skill %s: a trial could not be run; it is tried again", self._stem)
            pause = _PAUSE_AFTER_FAILURE
        timer = threading.Timer(pause, self._finish)
        timer.daemon = True
        timer.start()

    def _finish(self) -> None:
        with self._lock:
            self._busy = False
        self._done()
