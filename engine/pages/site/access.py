"""Access to the pages: who may see them and act on them, and signing in and out.

Without keys, everyone who reaches the engine at a loopback address may see them (`api.access` has checked the address).
With keys, a session is needed. An action also needs the token of the page, which no other site can read, and must come
from the engine's own origin.
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

_MAX_FORM = 8192
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
    """Refuse a request to the pages or answer it, with the headers that protect a page in the browser."""
    response = _find_refusal(request) or await _handle(request, handler)
    if not response.prepared:
        if request.path.startswith(f"{PAGES_ROOT}/static/"):
            response.headers["Cache-Control"] = "no-cache"
        for name, value in _HEADERS.items():
            response.headers.setdefault(name, value)
    return response


def _find_refusal(request: web.Request) -> web.StreamResponse | None:
    changes = request.method not in {"GET", "HEAD"}
    if changes and not _same_site(request):
        return json_reply({"error": "only the engine's own pages may do this"}, 403)
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


async def _handle(request: web.Request, handler: Handler) -> web.StreamResponse:
    try:
        # PostgreSQL refuses text with this character.
        if "\0" in f"{request.path}{''.join(request.query.values())}":
            raise web.HTTPBadRequest(text="The address contains a character that is not allowed.")
        return await handler(request)
    except web.HTTPException as refused:
        if refused.status < 400:
            raise
        if request.method not in {"GET", "HEAD"}:
            return json_reply({"error": refused.text or refused.reason}, refused.status)
        return render(request, "problem.html", {"reason": refused.reason, "text": refused.text}, refused.status)


async def get_sign_in(request: web.Request) -> web.Response:
    """The form that asks for the signing key."""
    if not request.app[SESSIONS].keyed:
        return _redirect(PAGES_ROOT)
    return render(request, "sign_in.html", {"wrong": False, "next": request.query.get("next", "")})


async def post_sign_in(request: web.Request) -> web.Response:
    """Begin a session; the form has `key`, the signing key, and `next`, the page to go to."""
    sessions = request.app[SESSIONS]
    if request.content_length is None or request.content_length > _MAX_FORM:
        raise web.HTTPBadRequest(text="the form is too long")
    form = await request.post()
    key, next_page = str(form.get("key", "")), str(form.get("next", ""))
    if not sessions.key_matches(key):
        return render(request, "sign_in.html", {"wrong": True, "next": next_page}, 403)
    response = _redirect(next_page if _is_page_address(next_page) else PAGES_ROOT)
    response.set_cookie(
        sessions.cookie_name,
        sessions.begin(state_of(request).dispatcher.clock.now_ms()),
        max_age=LIFETIME_MS // 1000,
        path=PAGES_ROOT,
        httponly=True,
        samesite="Strict",
        # Behind a proxy that terminates TLS, only the origin of the form shows that it is HTTPS.
        secure=request.secure or request.headers.get("origin", "").startswith("https://"),
    )
    return response


async def post_sign_out(request: web.Request) -> web.Response:
    """Delete the session's cookie in the browser; a copy of it stays valid until it expires."""
    response = web.json_response({"goto": SIGN_IN})
    response.del_cookie(request.app[SESSIONS].cookie_name, path=PAGES_ROOT)
    return response


def _is_page_address(address: str) -> bool:
    """Whether the address is that of a page: a plain path that no browser reads as an address of another host."""
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


def _redirect(address: str) -> web.Response:
    return web.Response(status=303, headers={"Location": address})
