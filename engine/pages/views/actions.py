"""Actions of the pages' buttons; each answers with the page to go to next."""

from aiohttp import web

from engine.api.access import PAGES_ROOT
from engine.api.state import json_reply, state_of
from engine.event import read_events
from engine.runs.lifecycle import cancel_running
from engine.runs.start import RerunRefusal, rerun_run


async def post_cancel(request: web.Request) -> web.Response:
    """Cancel a run; 409 when it has ended or does not exist."""
    run_id = request.match_info["run_id"]
    if not await state_of(request).dispatcher.writer.submit(lambda tx: cancel_running(tx, run_id)):
        return json_reply({"error": "the run has already ended"}, 409)
    return json_reply({"goto": f"{PAGES_ROOT}/runs/{run_id}"})


async def post_rerun(request: web.Request) -> web.Response:
    """Run a run again; 409 with the reason when that is not possible."""
    run_id = request.match_info["run_id"]
    started = await state_of(request).dispatcher.writer.submit(lambda tx: rerun_run(tx, run_id))
    if isinstance(started, RerunRefusal):
        return json_reply({"error": f"the run cannot be run again: {started.reason}"}, 409)
    return json_reply({"goto": f"{PAGES_ROOT}/runs/{started}"})


async def post_event(request: web.Request) -> web.Response:
    """Send the event `{"name": …, "data": {…}}`; 400 with the reason when it is refused."""
    dispatcher = state_of(request).dispatcher
    intake = read_events(await request.read(), None, dispatcher.clock.now_ms(), dispatcher.settings)
    if intake.error is not None or len(intake.events) != 1:
        return json_reply({"error": intake.error or "send one event at a time"}, 400)
    dispatcher.start_calls(await dispatcher.send(intake.events))
    return json_reply({"goto": f"{PAGES_ROOT}/events/{intake.events[0].id}"})
