"""What the pages' buttons do; each answers with the page to go to next."""

from aiohttp import web

from engine.api.state import reply, state_of
from engine.intake import read_events
from engine.pages.paths import ROOT
from engine.runs.finish import cancel
from engine.runs.rerun import NoRerun, rerun
from engine.runs.state import lock_run
from engine.transaction import Transaction


async def post_cancel(request: web.Request) -> web.Response:
    """409 when the run has ended or is not known."""
    run_id = request.match_info["run_id"]

    def stop(tx: Transaction) -> bool:
        run = lock_run(tx, run_id)
        if run is None:
            return False
        cancel(tx, run)
        return True

    if not await state_of(request).core.writer.submit(stop):
        return reply({"error": "the run has already ended"}, 409)
    return reply({"goto": f"{ROOT}/runs/{run_id}"})


async def post_rerun(request: web.Request) -> web.Response:
    """409 with the reason when it cannot be run again."""
    run_id = request.match_info["run_id"]
    started = await state_of(request).core.writer.submit(lambda tx: rerun(tx, run_id))
    if isinstance(started, NoRerun):
        return reply({"error": f"the run cannot be run again: {started.reason}"}, 409)
    return reply({"goto": f"{ROOT}/runs/{started}"})


async def post_event(request: web.Request) -> web.Response:
    """`{"name": …, "data": {…}}`; 400 with the reason when it is no event."""
    core = state_of(request).core
    intake = read_events(await request.read(), None, core.clock.now_ms(), core.settings)
    if intake.error is not None or len(intake.events) != 1:
        return reply({"error": intake.error or "send one event at a time"}, 400)
    core.go_out(await core.send(intake.events))
    return reply({"goto": f"{ROOT}/events/{intake.events[0].id}"})
