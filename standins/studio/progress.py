"""Progress of a job, reported in a few visible steps."""

import time
from collections.abc import Callable

STEPS = (0.1, 0.3, 0.5, 0.7, 0.9)


class JobHasEnded(Exception):
    """Stop making the job: it has ended meanwhile, for example by a cancel, or the studio is closing."""


class StudioProgress:
    """Reports the fraction done in steps, waiting a share of `pace` seconds before each.

    `advance(step)` stores a step and returns whether the job still runs; `over()` says whether the studio is closing.
    """

    def __init__(self, advance: Callable[[float], bool], over: Callable[[], bool], pace: float) -> None:
        self._advance = advance
        self._over = over
        self._pause = pace / len(STEPS)
        self._left = list(STEPS)

    def reach(self, fraction: float) -> None:
        """Report that this fraction (0 to 1) is done. Raise JobHasEnded if the job should stop."""
        while self._left and self._left[0] <= fraction:
            self._wait()
            if not self._advance(self._left.pop(0)):
                raise JobHasEnded

    def check(self) -> None:
        """Raise JobHasEnded if the studio is closing."""
        if self._over():
            raise JobHasEnded

    def _wait(self) -> None:
        until = time.monotonic() + self._pause
        while (left := until - time.monotonic()) > 0:
            self.check()
            time.sleep(min(left, 0.1))
        self.check()
