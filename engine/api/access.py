"""Access to the engine: which requests are let in, and which addresses are pages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

from aiohttp import web

from engine.api.state import json_reply, state_of
from engine.formats.signing import bearer_matches

PAGES_ROOT = "/ui"


def is_page(path: str) -> bool:
    """Whether the address belongs to the pages and not to the API."""
    return path in {"/", PAGES_ROOT} or path.startswith(f"{PAGES_ROOT}/")


def from_own_origin(request: web.Request) -> bool:
    """Whether the request's `Origin` is the address it was sent to.

    The scheme is left out: behind a proxy that speaks TLS, the engine does not see it.
    """
    try:
        origin = urlsplit(request.headers.get("origin", ""))
    except ValueError:
        return False
    host = request.headers.get("host", "")
    return origin.scheme in {"http", "https"} and bool(host) and origin.netloc.lower() == host.lower()


_LOCAL = frozenset({"localhost", "127.0.0.1", "::1", "0.0.0.0"})
_OPEN = frozenset({"/health", "/v2/health", "/dev"})

KIND_HEADER = "x-inngest-server-kind"

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@web.middleware
async def guard_requests(request: web.Request, handler: Handler) -> web.StreamResponse:
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
    return json_reply(
        {"error": message, "errors": [{"code": "authentication_failed", "message": message}], "status": status}, status
    )


def _host(value: str) -> str:
    try:
        return urlsplit(f"//{value}").hostname or ""
    except ValueError:
        return ""
