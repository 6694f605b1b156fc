"""The test clock (`serve engine --test-clock`): a clock that tests move, and `/test/clock` to read and move it."""

from __future__ import annotations

from datetime import datetime

from aiohttp import web

from engine.api.state import json_reply, state_of
from engine.dispatcher import Dispatcher
from engine.formats.clock import MillisecondClock, parse_duration, rfc3339, to_ms
from engine.formats.json_text import loads

_MOST_STOPS = 100_000
_NOW_MS = 1_000


class MovableClock:
    """The machine's clock plus what it was moved by; never goes back."""

    def __init__(self, base: MillisecondClock) -> None:
        self._base = base
        self._ahead = 0

    def now_ms(self) -> int:
        return self._base.now_ms() + self._ahead

    def move_to(self, moment: int) -> None:
        self._ahead += max(moment - self.now_ms(), 0)


async def advance_clock(core: Dispatcher, clock: MovableClock, until: int) -> int:
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


TEST_CLOCK = web.AppKey("clock", MovableClock)


async def get_clock(request: web.Request) -> web.Response:
    """`{"now": RFC 3339}`"""
    return json_reply({"now": rfc3339(request.app[TEST_CLOCK].now_ms())})


async def post_clock(request: web.Request) -> web.Response:
    """`{"advance": "7d"}` or `{"now": RFC 3339}`; answers once all that was due in between is done.

    With `"jump": true` the time in between does not happen, as if the engine had been down.
    """
    clock = request.app[TEST_CLOCK]
    try:
        asked = loads(await request.read())
        until = clock.now_ms() + parse_duration(asked["advance"]) if "advance" in asked else _moment(asked["now"])
        if asked.get("jump"):
            clock.move_to(until)
        stops = await advance_clock(state_of(request).dispatcher, clock, until)
    except (ValueError, KeyError, TypeError) as error:
        return json_reply({"error": f"the clock cannot be moved: {error}", "status": 400}, 400)
    return json_reply({"now": rfc3339(clock.now_ms()), "stops": stops})


def _moment(text: str) -> int:
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"{text} has no time zone")
    return to_ms(moment)
