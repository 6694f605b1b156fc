"""A clock that tests move: `serve engine --test-clock`."""

from engine.clock import Clock
from engine.core import Core

_MOST_STOPS = 100_000
_NOW_MS = 1_000


class MovableClock:
    """The machine's clock plus what it was moved by; never goes back."""

    def __init__(self, base: Clock) -> None:
        self._base = base
        self._ahead = 0

    def now_ms(self) -> int:
        return self._base.now_ms() + self._ahead

    def move_to(self, moment: int) -> None:
        self._ahead += max(moment - self.now_ms(), 0)


async def advance(core: Core, clock: MovableClock, until: int) -> int:
    """Move the clock to `until`, stopping wherever something waits until what is due there is done and answered.

    Returns how often it stopped.

    Raises:
        ValueError: `until` is past, or too many things are due before it.
    """
    if until < clock.now_ms() - _NOW_MS:
        raise ValueError("a clock cannot be moved back")
    for stops in range(_MOST_STOPS):
        await core.work_off()
        moment = await core.next_due()
        if moment is None or moment > until:
            clock.move_to(until)
            core.wake()
            await core.tidy()
            return stops
        clock.move_to(moment)
    raise ValueError(f"more than {_MOST_STOPS} things are due before that time")
