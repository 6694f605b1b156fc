"""/v0: what the SDK fetches when a request would be too large."""

from collections.abc import Callable

from aiohttp import web
from sqlalchemy import Connection, select

from engine.api.state import reply, state_of
from engine.calls.request import memos_text
from engine.history.runs import find_run
from engine.rows import Row
from engine.runs.state import ENDED
from engine.tables import steps

_GONE = "the state of this run is gone: it has ended"


async def get_batch(request: web.Request) -> web.Response:
    """The events of a run that has not ended, as an array."""
    return await _answer(request, lambda connection, run: str(run.events))


async def get_actions(request: web.Request) -> web.Response:
    """The memos of a run that has not ended, by hashed step id."""
    return await _answer(request, _memos)


async def _answer(request: web.Request, text_of: Callable[[Connection, Row], str]) -> web.Response:
    run_id = request.match_info["run_id"]

    def query(connection: Connection) -> str | None:
        run = find_run(connection, run_id)
        return None if run is None or run.status in ENDED else text_of(connection, run)

    text = await state_of(request).read(query)
    if text is None:
        return reply({"error": _GONE, "status": 410}, 410)
    return web.Response(body=text.encode(), content_type="application/json")


def _memos(connection: Connection, run: Row) -> str:
    done = select(steps.c.step_id, steps.c.memo).where(steps.c.run_id == run.id, steps.c.position.is_not(None))
    return memos_text([(row.step_id, row.memo) for row in connection.execute(done)])
