"""Heartbeats: call a function at intervals while a block runs.

Starting a thread costs more than a short step. So one thread per process waits for the first beat of each block, and
only a block that is still running then gets a thread, in which a slow beat delays no other.
"""

from __future__ import annotations

import heapq
import itertools
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Beat = Callable[[], bool]
"""Sends a sign of life and returns whether to continue."""


@contextmanager
def keep_beating(name: str, pause: float, beat: Beat) -> Iterator[None]:
    """Call `beat` every `pause` seconds during a block, in another thread; the last call ends before the block does."""
    heart = _Heart(name, pause, beat)
    queue = _find_queue()
    queue.add(heart)
    try:
        yield
    finally:
        queue.remove(heart)


class _Heart:
    """The beats of one block: due first at the time `first`, by its thread after that, until it is `over`."""

    def __init__(self, name: str, pause: float, beat: Beat) -> None:
        self.first = time.monotonic() + pause
        self.over = False
        self.thread: threading.Thread | None = None
        self.done: threading.Event | None = None
        self._name = name
        self._pause = pause
        self._beat = beat

    def start(self) -> None:
        self.done = threading.Event()
        self.thread = threading.Thread(target=self._run, args=(self.done,), name=self._name, daemon=True)
        self.thread.start()

    def _run(self, done: threading.Event) -> None:
        while self._beat() and not done.wait(self._pause):
            pass


class _HeartQueue:
    """Hearts whose first beat is to come, by its time, and the thread that waits for it.

    A heart that is removed earlier stays in the queue until that time.
    """

    def __init__(self) -> None:
        self.process = os.getpid()
        self._changed = threading.Condition(threading.Lock())
        self._queue: list[tuple[float, int, _Heart]] = []
        self._numbers = itertools.count()
        self._thread: threading.Thread | None = None

    def add(self, heart: _Heart) -> None:
        with self._changed:
            heapq.heappush(self._queue, (heart.first, next(self._numbers), heart))
            if self._queue[0][2] is not heart:
                # The thread waits for an earlier beat already.
                return
            if self._thread is None:
                self._thread = threading.Thread(target=self._start_due, name="heartbeats", daemon=True)
                self._thread.start()
            self._changed.notify()

    def remove(self, heart: _Heart) -> None:
        with self._changed:
            heart.over = True
        if heart.thread is not None and heart.done is not None:
            heart.done.set()
            heart.thread.join()

    def _start_due(self) -> None:
        with self._changed:
            while True:
                if not self._queue:
                    self._changed.wait()
                elif (wait := self._queue[0][0] - time.monotonic()) > 0:
                    self._changed.wait(wait)
                elif not (heart := heapq.heappop(self._queue)[2]).over:
                    heart.start()


_queues: list[_HeartQueue] = []


def _find_queue() -> _HeartQueue:
    """Return the queue of this process; a forked process needs a new one, without its parent's threads and locks."""
    if not _queues or _queues[-1].process != os.getpid():
        _queues[:] = [_HeartQueue()]
    return _queues[-1]
