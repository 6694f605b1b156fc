"""Call a function at intervals while a block runs, without a thread for blocks that end before the first beat.

A thread costs more than a short step, so one thread a process watches when each first beat is due, and only a block
that lives until then gets a thread for itself. A slow beat delays no other.
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
"""Gives a sign of life; False when there is no use in going on."""


@contextmanager
def keep_beating(name: str, pause: float, beat: Beat) -> Iterator[None]:
    """Call `beat` every `pause` seconds during a block, in another thread; none is under way when the block is left."""
    heart = _Heart(name, pause, beat)
    hearts = _of_this_process()
    hearts.watch(heart)
    try:
        yield
    finally:
        hearts.forget(heart)


class _Heart:
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


class _Hearts:
    """Those whose first beat is to come, soonest first; what is over stays in the row until its turn comes."""

    def __init__(self) -> None:
        self.process = os.getpid()
        self._changed = threading.Condition(threading.Lock())
        self._row: list[tuple[float, int, _Heart]] = []
        self._numbers = itertools.count()
        self._thread: threading.Thread | None = None

    def watch(self, heart: _Heart) -> None:
        with self._changed:
            heapq.heappush(self._row, (heart.first, next(self._numbers), heart))
            if self._row[0][2] is not heart:
                return
            if self._thread is None:
                self._thread = threading.Thread(target=self._look, name="heartbeats", daemon=True)
                self._thread.start()
            self._changed.notify()

    def forget(self, heart: _Heart) -> None:
        with self._changed:
            heart.over = True
        if heart.thread is not None and heart.done is not None:
            heart.done.set()
            heart.thread.join()

    def _look(self) -> None:
        with self._changed:
            while True:
                if not self._row:
                    self._changed.wait()
                elif (wait := self._row[0][0] - time.monotonic()) > 0:
                    self._changed.wait(wait)
                elif not (heart := heapq.heappop(self._row)[2]).over:
                    heart.start()


_known: list[_Hearts] = []


def _of_this_process() -> _Hearts:
    """A process that was forked has none of its parent's threads, and may have a lock of theirs for ever."""
    if not _known or _known[-1].process != os.getpid():
        _known[:] = [_Hearts()]
    return _known[-1]
