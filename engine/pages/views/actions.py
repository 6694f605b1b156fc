"""Handlers of the pages' buttons; each answers with the page to go to next."""

from aiohttp import web

from engine.api.access import PAGES_ROOT
from engine.api.state import json_reply, state_of
from engine.event import read_events
from engine.runs.lifecycle import cancel_run, lock_run
from engine.runs.start import RerunRefusal, rerun_run
from engine.storage.transaction import Transaction


async def post_cancel(request: web.Request) -> web.Response:
    """409 when the run has ended or is not known."""
    run_id = request.match_info["run_id"]

    def stop(tx: Transaction) -> bool:
        run = lock_run(tx, run_id)
        if run is None:
            return False
        cancel_run(tx, run)
        return True

    if not await state_of(request).dispatcher.writer.submit(stop):
        return json_reply({"error": "the run has already ended"}, 409)
    return json_reply({"goto": f"{PAGES_ROOT}/runs/{run_id}"})


async def post_rerun(request: web.Request) -> web.Response:
    """409 with the reason when it cannot be run again."""
    run_id = request.match_info["run_id"]
    started = await state_of(request).dispatcher.writer.submit(lambda tx: rerun_run(tx, run_id))
    if isinstance(started, RerunRefusal):
        return json_reply({"error": f"the run cannot be run again: {started.reason}"}, 409)
    return json_reply({"goto": f"{PAGES_ROOT}/runs/{started}"})


async def post_event(request: web.Request) -> web.Response:
    """`{"name": …, "data": {…}}`; 400 with the reason when it is no event."""
    core = state_of(request).dispatcher
    intake = read_events(await request.read(), None, core.clock.now_ms(), core.settings)
    if intake.error is not None or len(intake.events) != 1:
        return json_reply({"error": intake.error or "send one event at a time"}, 400)
    core.go_out(await core.send(intake.events))
    return json_reply({"goto": f"{PAGES_ROOT}/events/{intake.events[0].id}"})
