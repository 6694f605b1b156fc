"""Test clock (`--test-clock`): a clock that tests move, and `/test/clock` to read and move it."""

from __future__ import annotations

from aiohttp import web

from engine.api.state import json_reply, state_of
from engine.dispatcher import Dispatcher
from engine.formats.clock import MillisecondClock, parse_duration, parse_time, rfc3339
from engine.formats.json_text import loads

_MAX_STOPS = 100_000
_TOLERANCE_MS = 1_000


class MovableClock:
    """The machine's clock, moved forward by tests."""

    def __init__(self, base: MillisecondClock) -> None:
        self._base = base
        self._ahead = 0

    def now_ms(self) -> int:
        return self._base.now_ms() + self._ahead

    def move_to(self, moment: int) -> None:
        """Move the clock forward to `moment`; an earlier one has no effect."""
        self._ahead += max(moment - self.now_ms(), 0)


TEST_CLOCK = web.AppKey("clock", MovableClock)


async def advance_clock(dispatcher: Dispatcher, clock: MovableClock, until: int) -> int:
    """Move the clock to `until`, stopping at each time for which something waits until that is done and answered.

    Returns the number of stops.

    Raises:
        ValueError: `until` is in the past, or there are too many stops before it.
    """
    if until < clock.now_ms() - _TOLERANCE_MS:
        raise ValueError("a clock cannot be moved back")
    for stops in range(_MAX_STOPS):
        await dispatcher.work_off()
        moment = await dispatcher.read_next_due()
        if moment is None or moment > until:
            clock.move_to(until)
            dispatcher.wake()
            await dispatcher.delete_old()
            return stops
        clock.move_to(moment)
    raise ValueError(f"there are more than {_MAX_STOPS} stops before that time")


async def get_clock(request: web.Request) -> web.Response:
    """`GET /test/clock`: the time, as `{"now": RFC 3339}`."""
    return json_reply({"now": rfc3339(request.app[TEST_CLOCK].now_ms())})


async def post_clock(request: web.Request) -> web.Response:
    """`POST /test/clock` with `{"advance": "7d"}` or `{"now": RFC 3339}`: move the clock.

    It answers once everything that was due in between is done. With `"jump": true` the clock does not stop in between,
    as if the engine had been down.
    """
    clock = request.app[TEST_CLOCK]
    try:
        body = loads(await request.read())
        until = clock.now_ms() + parse_duration(body["advance"]) if "advance" in body else parse_time(body["now"])
        if body.get("jump"):
            clock.move_to(until)
        stops = await advance_clock(state_of(request).dispatcher, clock, until)
    except (ValueError, KeyError, TypeError) as error:
        return json_reply({"error": f"the clock cannot be moved: {error}", "status": 400}, 400)
    return json_reply({"now": rfc3339(clock.now_ms()), "stops": stops})
