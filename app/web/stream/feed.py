"""The newest changes of one workspace, read once and shared by all of its streams."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from app.web.stream.frames import Frame

WINDOW = 512


class Feed:
    """A window of consecutive frames. Its owner guards it with a lock: nothing here waits."""

    def __init__(self, seq: int) -> None:
        self._frames: deque[Frame] = deque(maxlen=WINDOW)
        self._before = seq
        self.readers = 0

    @property
    def last(self) -> int:
        """The number of the newest change that is known here."""
        return self._frames[-1].seq if self._frames else self._before

    def extend(self, frames: Sequence[Frame]) -> None:
        for frame in frames:
            if len(self._frames) == WINDOW:
                self._before = self._frames[0].seq
            self._frames.append(frame)

    def covers(self, seq: int) -> bool:
        """Whether everything after `seq` is still in the window."""
        return seq >= self._before

    def after(self, seq: int) -> list[Frame]:
        """What follows `seq`; only where the window covers it."""
        return [frame for frame in self._frames if frame.seq > seq]
