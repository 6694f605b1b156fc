"""The HTTP application: the routes of the API, the pages and the test clock."""

from aiohttp import web

from engine.api import actions, sdk, v1, v2
from engine.api.access import guard_requests
from engine.api.graphql import post_graphql
from engine.api.sdk import post_events, post_register
from engine.api.state import STATE, ApiState, json_reply, state_of
from engine.api.test_clock import TEST_CLOCK, MovableClock, get_clock, post_clock
from engine.pages.routes import mount_pages
from engine.settings import MIB

_MAX_BODY = 64 * MIB
VERSION = "loopwright-engine"


def make_app(state: ApiState, test_clock: MovableClock | None = None) -> web.Application:
    """Build the application; with a `test_clock`, `/test/clock` reads and moves it."""
    app = web.Application(middlewares=[guard_requests], client_max_size=_MAX_BODY)
    app[STATE] = state
    app.router.add_post("/fn/register", post_register)
    app.router.add_post("/e/{key}", post_events)
    app.router.add_post("/invoke/{slug}", actions.post_bare_invoke)
    app.router.add_post("/v0/gql", post_graphql)
    app.router.add_get("/health", get_health)
    app.router.add_get("/dev", get_dev)
    app.router.add_get("/v0/runs/{run_id}/batch", sdk.get_batch)
    app.router.add_get("/v0/runs/{run_id}/actions", sdk.get_actions)
    app.router.add_get("/v1/events", v1.get_events)
    app.router.add_get("/v1/events/{event_id}", v1.get_event)
    app.router.add_get("/v1/events/{event_id}/runs", v1.get_event_runs)
    app.router.add_get("/v1/runs/{run_id}", v1.get_run)
    app.router.add_delete("/v1/runs/{run_id}", v1.delete_run)
    app.router.add_get("/v1/apps/{app}/functions", v1.get_app_functions)
    for root in ("/v2", "/api/v2"):
        app.router.add_get(f"{root}/health", v2.get_health)
        app.router.add_get(f"{root}/runs", v2.get_runs)
        app.router.add_get(f"{root}/runs/{{run_id}}", v2.get_run)
        app.router.add_get(f"{root}/runs/{{run_id}}/trace", v2.get_trace)
        app.router.add_post(f"{root}/runs/{{run_id}}/cancel", v2.post_cancel)
        app.router.add_post(f"{root}/runs/{{run_id}}/rerun", actions.post_rerun)
        app.router.add_post(f"{root}/apps/{{app}}/functions/{{function}}/invoke", actions.post_invoke)
        app.router.add_get(f"{root}/events/{{event_id}}/runs", v2.get_event_runs)
        app.router.add_get(f"{root}/apps", v2.get_apps)
        app.router.add_get(f"{root}/apps/{{app}}", v2.get_app)
        app.router.add_get(f"{root}/apps/{{app}}/functions", v2.get_functions)
        app.router.add_get(f"{root}/apps/{{app}}/functions/{{function}}/runs", v2.get_function_runs)
        app.router.add_get(f"{root}/apps/{{app}}/functions/{{function}}/missed", v2.get_missed)
    mount_pages(app, state)
    if test_clock is not None:
        app[TEST_CLOCK] = test_clock
        app.router.add_get("/test/clock", get_clock)
        app.router.add_post("/test/clock", post_clock)
    return app


async def get_health(_request: web.Request) -> web.Response:
    """`GET /health`: answers as long as the engine runs."""
    return json_reply({"message": "OK", "status": 200})


async def get_dev(request: web.Request) -> web.Response:
    """`GET /dev`: how SDKs recognise a dev server.

    It needs no key, so an engine with keys lists no functions here.
    """
    state = state_of(request)
    functions = (
        []
        if state.signing_keys
        else [{"id": f.id, "name": f.name, "slug": f.slug} for f in state.dispatcher.writer.registry.by_slug.values()]
    )
    return json_reply(
        {
            "authed": bool(state.signing_keys),
            "functions": functions,
            "handlers": [],
            "isSingleNodeService": True,
            "startOpts": {},
            "version": VERSION,
        }
    )
