"""Access to the pages: who may see them, who may change something from them, signing in and out.

Without keys, anybody who reaches the engine at a loopback address may look (the API's guard has seen to the address).
With keys, only an open session may. A change also needs the page's token, which no other site can read, and must not
come from another origin.
"""

from __future__ import annotations

from urllib.parse import quote, urlsplit

from aiohttp import web

from engine.api.access import PAGES_ROOT, Handler, from_own_origin
from engine.api.state import json_reply, state_of
from engine.pages.site.rendering import SESSIONS, render
from engine.pages.site.sessions import LIFETIME_MS

TOKEN_HEADER = "X-Engine-Token"
SIGN_IN = f"{PAGES_ROOT}/sign-in"

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": _POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    # Not `no-referrer`: browsers would then send `Origin: null` with the sign-in form.
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


@web.middleware
async def guard_pages(request: web.Request, handler: Handler) -> web.StreamResponse:
    response = _refusal(request) or await _answer(request, handler)
    if not response.prepared:
        if request.path.startswith(f"{PAGES_ROOT}/static/"):
            response.headers["Cache-Control"] = "no-cache"
        for name, value in _HEADERS.items():
            response.headers.setdefault(name, value)
    return response


def _refusal(request: web.Request) -> web.StreamResponse | None:
    changes = request.method not in {"GET", "HEAD"}
    if changes and not _same_site(request):
        return json_reply({"error": "this can only be asked for from the engine's own pages"}, 403)
    if request.path == SIGN_IN or request.path.startswith(f"{PAGES_ROOT}/static/"):
        return None
    sessions = request.app[SESSIONS]
    cookie = sessions.cookie_in(request.cookies)
    if sessions.keyed and not sessions.is_open(cookie, state_of(request).dispatcher.clock.now_ms()):
        if changes:
            return json_reply({"error": "the session has ended; sign in again"}, 401)
        return web.Response(status=303, headers={"Location": f"{SIGN_IN}?next={quote(request.path_qs, safe='')}"})
    if changes and not sessions.token_matches(cookie, request.headers.get(TOKEN_HEADER, "")):
        return json_reply({"error": "this page is older than the engine's process; reload it"}, 403)
    return None


def _same_site(request: web.Request) -> bool:
    fetched_from = request.headers.get("sec-fetch-site", "same-origin")
    return ("origin" not in request.headers or from_own_origin(request)) and fetched_from == "same-origin"


async def _answer(request: web.Request, handler: Handler) -> web.StreamResponse:
    try:
        # PostgreSQL cannot even be asked about it.
        if "\0" in f"{request.path}{''.join(request.query.values())}":
            raise web.HTTPBadRequest(text="The address has a character that nothing here has.")
        return await handler(request)
    except web.HTTPException as refused:
        if refused.status < 400:
            raise
        if request.method not in {"GET", "HEAD"}:
            return json_reply({"error": refused.text or refused.reason}, refused.status)
        return render(request, "problem.html", {"reason": refused.reason, "told": refused.text}, refused.status)


_MOST = 8192


async def get_sign_in(request: web.Request) -> web.Response:
    if not request.app[SESSIONS].keyed:
        return _go(PAGES_ROOT)
    return render(request, "sign_in.html", {"wrong": False, "next": request.query.get("next", "")})


async def post_sign_in(request: web.Request) -> web.Response:
    """A form with `key`, the signing key, and `next`, where to go then."""
    sessions = request.app[SESSIONS]
    if request.content_length is None or request.content_length > _MOST:
        raise web.HTTPBadRequest(text="the form is too long")
    form = await request.post()
    key, wanted = str(form.get("key", "")), str(form.get("next", ""))
    if not sessions.key_matches(key):
        return render(request, "sign_in.html", {"wrong": True, "next": wanted}, 403)
    response = _go(wanted if _is_ours(wanted) else PAGES_ROOT)
    response.set_cookie(
        sessions.cookie_name,
        sessions.begin(state_of(request).dispatcher.clock.now_ms()),
        max_age=LIFETIME_MS // 1000,
        path=PAGES_ROOT,
        httponly=True,
        samesite="Strict",
        # A proxy that speaks TLS for the engine shows only in where the form came from.
        secure=request.secure or request.headers.get("origin", "").startswith("https://"),
    )
    return response


async def post_sign_out(request: web.Request) -> web.Response:
    """The browser forgets the session; a copy of its cookie ends with its time."""
    response = web.json_response({"goto": f"{PAGES_ROOT}/sign-in"})
    response.del_cookie(request.app[SESSIONS].cookie_name, path=PAGES_ROOT)
    return response


def _is_ours(address: str) -> bool:
    """Whether it is the address of a page: a path, without a host, whatever a browser may make of it."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    plain = address.isascii() and address.isprintable() and "\\" not in address
    return (
        plain
        and not parts.scheme
        and not parts.netloc
        and (parts.path == PAGES_ROOT or parts.path.startswith(f"{PAGES_ROOT}/"))
    )


def _go(address: str) -> web.Response:
    return web.Response(status=303, headers={"Location": address})
