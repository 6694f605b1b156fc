"""Access to the engine: which requests it accepts, with keys and without."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

from aiohttp import web

from engine.api.state import json_reply, state_of
from engine.formats.signing import bearer_matches

PAGES_ROOT = "/ui"
_LOCAL = frozenset({"localhost", "127.0.0.1", "::1", "0.0.0.0"})
_OPEN = frozenset({"/health", "/v2/health", "/dev"})
KIND_HEADER = "x-inngest-server-kind"

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@web.middleware
async def guard_requests(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Refuse a request that may come from a web page (without keys) or that has no key (with keys).

    The engine's own pages are an exception: without keys they may be requested from their own origin, at a loopback
    address like everything else; with keys, `pages.site.access` guards them.
    """
    state = state_of(request)
    refusal = _find_refusal(request, state.signing_keys)
    try:
        response = refusal if refusal is not None else await handler(request)
    except web.HTTPException as error:
        error.headers[KIND_HEADER] = state.kind
        raise
    if not response.prepared:
        response.headers[KIND_HEADER] = state.kind
    return response


def _find_refusal(request: web.Request, keys: tuple[str, ...]) -> web.Response | None:
    if not keys:
        if "origin" in request.headers and not (is_page(request.path) and from_own_origin(request)):
            return _refuse(403, "an engine without keys accepts no requests from web pages")
        if _host(request.headers.get("host", "")) not in _LOCAL:
            return _refuse(403, "an engine without keys accepts only requests to localhost")
        return None
    if request.path in _OPEN or request.path.startswith("/e/") or is_page(request.path):
        return None
    if not bearer_matches(keys, request.headers.get("authorization", "")):
        return _refuse(401, "Authentication failed")
    return None


def _refuse(status: int, message: str) -> web.Response:
    return json_reply(
        {"error": message, "errors": [{"code": "authentication_failed", "message": message}], "status": status}, status
    )


def _host(value: str) -> str:
    try:
        return urlsplit(f"//{value}").hostname or ""
    except ValueError:
        return ""


def is_page(path: str) -> bool:
    """Whether the path belongs to the pages, not to the API."""
    return path in {"/", PAGES_ROOT} or path.startswith(f"{PAGES_ROOT}/")


def from_own_origin(request: web.Request) -> bool:
    """Whether the `Origin` of a request is the address to which it was sent.

    The scheme is not compared, since the engine does not know it behind a proxy that terminates TLS.
    """
    try:
        origin = urlsplit(request.headers.get("origin", ""))
    except ValueError:
        return False
    host = request.headers.get("host", "")
    return origin.scheme in {"http", "https"} and bool(host) and origin.netloc.lower() == host.lower()
