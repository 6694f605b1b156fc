"""Signals as something to wait for."""

from __future__ import annotations

import os
import select
import signal
from types import FrameType, TracebackType

_STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class SignalWatch:
    """While it is open, counts the requests to stop and wakes `wait` at each, and at the death of a child.

    Only the main thread may open it. What was set before is put back at the end.
    """

    def __init__(self) -> None:
        self.stops = 0

    def __enter__(self) -> SignalWatch:
        self._read, self._write = os.pipe()
        os.set_blocking(self._read, False)
        os.set_blocking(self._write, False)
        self._old_wakeup = signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        self._old = {number: signal.signal(number, self._stop) for number in _STOPPING}
        self._old[signal.SIGCHLD] = signal.signal(signal.SIGCHLD, self._child)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._old.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._old_wakeup)
        os.close(self._read)
        os.close(self._write)

    def wait(self, seconds: float | None) -> None:
        """Sleep until a signal arrives, or so long."""
        ready, _, _ = select.select([self._read], [], [], seconds)
        if ready:
            os.read(self._read, 4096)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self.stops += 1

    def _child(self, number: int, frame: FrameType | None) -> None:
        pass
