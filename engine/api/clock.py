"""/test/clock: reading and moving the test clock; absent without `--test-clock`."""

from datetime import datetime

from aiohttp import web

from engine.api.state import reply, state_of
from engine.clock import rfc3339, to_ms
from engine.durations import parse_duration
from engine.json_text import loads
from engine.movable_clock import MovableClock, advance

CLOCK = web.AppKey("clock", MovableClock)


async def get_clock(request: web.Request) -> web.Response:
    """`{"now": RFC 3339}`"""
    return reply({"now": rfc3339(request.app[CLOCK].now_ms())})


async def post_clock(request: web.Request) -> web.Response:
    """`{"advance": "7d"}` or `{"now": RFC 3339}`; answers once all that was due in between is done.

    With `"jump": true` the time in between does not happen, as if the engine had been down.
    """
    clock = request.app[CLOCK]
    try:
        asked = loads(await request.read())
        until = clock.now_ms() + parse_duration(asked["advance"]) if "advance" in asked else _moment(asked["now"])
        if asked.get("jump"):
            clock.move_to(until)
        stops = await advance(state_of(request).core, clock, until)
    except (ValueError, KeyError, TypeError) as error:
        return reply({"error": f"the clock cannot be moved: {error}", "status": 400}, 400)
    return reply({"now": rfc3339(clock.now_ms()), "stops": stops})


def _moment(text: str) -> int:
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"{text} has no time zone")
    return to_ms(moment)
