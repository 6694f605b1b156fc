"""The routes."""

from aiohttp import web

from engine.api.events import post_events
from engine.api.guard import guard
from engine.api.register import post_register
from engine.api.state import STATE, ApiState, reply, state_of
from engine.settings import MIB

_MAX_BODY = 64 * MIB
VERSION = "loopwright-engine"


def make_app(state: ApiState) -> web.Application:
    app = web.Application(middlewares=[guard], client_max_size=_MAX_BODY)
    app[STATE] = state
    app.router.add_post("/fn/register", post_register)
    app.router.add_post("/e/{key}", post_events)
    app.router.add_get("/health", get_health)
    app.router.add_get("/dev", get_dev)
    return app


async def get_health(_request: web.Request) -> web.Response:
    return reply({"message": "OK", "status": 200})


async def get_dev(request: web.Request) -> web.Response:
    """What other SDKs probe for; a keyed engine names no functions here, since it is asked without a key."""
    state = state_of(request)
    functions = (
        []
        if state.signing_keys
        else [{"id": f.id, "name": f.name, "slug": f.slug} for f in state.core.writer.registry.by_slug.values()]
    )
    return reply(
        {
            "authed": bool(state.signing_keys),
            "functions": functions,
            "handlers": [],
            "isSingleNodeService": True,
            "startOpts": {},
            "version": VERSION,
        }
    )
