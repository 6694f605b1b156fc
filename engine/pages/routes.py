"""Routes of the pages."""

from pathlib import Path

from aiohttp import web

from engine.api.access import PAGES_ROOT
from engine.api.state import STATE, ApiState
from engine.pages.site import access
from engine.pages.site.access import guard_pages
from engine.pages.site.rendering import SESSIONS
from engine.pages.site.sessions import Sessions
from engine.pages.views import actions, events, functions, overview, raw, runs


def mount_pages(app: web.Application, state: ApiState) -> None:
    """Add the pages under `/ui`, and a redirect to them from `/`."""
    pages = web.Application(middlewares=[guard_pages])
    pages[STATE] = state
    pages[SESSIONS] = Sessions(state.signing_keys)
    add = pages.router.add_get
    add("", overview.get_overview)
    add("/functions", functions.get_functions)
    add("/functions/{function_id}", functions.get_function)
    add("/functions/{function_id}/config.txt", raw.get_function)
    add("/events", events.get_events)
    add("/events/new", events.get_new_event)
    add("/events/{event_id}", events.get_event)
    add("/events/{event_id}/body.txt", raw.get_event)
    add("/runs", runs.get_runs)
    add("/runs/{run_id}", runs.get_run)
    add("/runs/{run_id}/output.txt", raw.get_run_output)
    add("/runs/{run_id}/events.txt", raw.get_run_events)
    add("/runs/{run_id}/errors.txt", raw.get_errors)
    add("/runs/{run_id}/steps/{step_id}/output.txt", raw.get_step_output)
    add("/sign-in", access.get_sign_in)
    pages.router.add_post("/sign-in", access.post_sign_in)
    pages.router.add_post("/sign-out", access.post_sign_out)
    pages.router.add_post("/events", actions.post_event)
    pages.router.add_post("/runs/{run_id}/cancel", actions.post_cancel)
    pages.router.add_post("/runs/{run_id}/rerun", actions.post_rerun)
    pages.router.add_static("/static", Path(__file__).parent / "static")
    app.router.add_get("/", _redirect_to_pages)
    app.add_subapp(PAGES_ROOT, pages)


async def _redirect_to_pages(_request: web.Request) -> web.Response:
    return web.Response(status=302, headers={"Location": PAGES_ROOT})
