"""Who may speak to the engine."""

from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

from aiohttp import web

from engine.api.state import reply, state_of
from engine.pages.paths import from_own_origin, is_page
from engine.signing import bearer_matches

_LOCAL = frozenset({"localhost", "127.0.0.1", "::1", "0.0.0.0"})
_OPEN = frozenset({"/health", "/v2/health", "/dev"})

KIND_HEADER = "x-inngest-server-kind"

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@web.middleware
async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Without keys, only requests no web page can have made; with keys, only those that show one.

    The engine's own pages are web pages too: without keys they may come from their own origin (at a loopback address,
    as all else), and with keys they have a door of their own.
    """
    state = state_of(request)
    refusal = _refusal(request, state.signing_keys)
    try:
        response = refusal if refusal is not None else await handler(request)
    except web.HTTPException as error:
        error.headers[KIND_HEADER] = state.kind
        raise
    if not response.prepared:
        response.headers[KIND_HEADER] = state.kind
    return response


def _refusal(request: web.Request, keys: tuple[str, ...]) -> web.Response | None:
    if not keys:
        if "origin" in request.headers and not (is_page(request.path) and from_own_origin(request)):
            return _no(403, "an engine without keys takes no requests from web pages")
        if _host(request.headers.get("host", "")) not in _LOCAL:
            return _no(403, "an engine without keys takes only requests for localhost")
        return None
    if request.path in _OPEN or request.path.startswith("/e/") or is_page(request.path):
        return None
    if not bearer_matches(keys, request.headers.get("authorization", "")):
        return _no(401, "Authentication failed")
    return None


def _no(status: int, message: str) -> web.Response:
    return reply(
        {"error": message, "errors": [{"code": "authentication_failed", "message": message}], "status": status}, status
    )


def _host(value: str) -> str:
    try:
        return urlsplit(f"//{value}").hostname or ""
    except ValueError:
        return ""
