"""Who may see the pages, who may change something from them, and the headers that keep both so.

Without keys, whoever reaches the engine at a loopback address may look (the API's guard has seen to the address).
With keys, only an open session may. A change also needs the page's token, which no other site can read, and must not
come from another origin.
"""

from urllib.parse import quote

from aiohttp import web

from engine.api.guard import Handler
from engine.api.state import reply, state_of
from engine.pages.paths import ROOT, from_own_origin
from engine.pages.rendering import SESSIONS, render

TOKEN_HEADER = "X-Engine-Token"
SIGN_IN = f"{ROOT}/sign-in"

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
async def door(request: web.Request, handler: Handler) -> web.StreamResponse:
    response = _refusal(request) or await _answer(request, handler)
    if not response.prepared:
        if request.path.startswith(f"{ROOT}/static/"):
            response.headers["Cache-Control"] = "no-cache"
        for name, value in _HEADERS.items():
            response.headers.setdefault(name, value)
    return response


def _refusal(request: web.Request) -> web.StreamResponse | None:
    changes = request.method not in {"GET", "HEAD"}
    if changes and not _same_site(request):
        return reply({"error": "this can only be asked for from the engine's own pages"}, 403)
    if request.path == SIGN_IN or request.path.startswith(f"{ROOT}/static/"):
        return None
    sessions = request.app[SESSIONS]
    cookie = sessions.cookie_in(request.cookies)
    if sessions.keyed and not sessions.is_open(cookie, state_of(request).core.clock.now_ms()):
        if changes:
            return reply({"error": "the session has ended; sign in again"}, 401)
        return web.Response(status=303, headers={"Location": f"{SIGN_IN}?next={quote(request.path_qs, safe='')}"})
    if changes and not sessions.token_matches(cookie, request.headers.get(TOKEN_HEADER, "")):
        return reply({"error": "this page is older than the engine's process; reload it"}, 403)
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
            return reply({"error": refused.text or refused.reason}, refused.status)
        return render(request, "problem.html", {"reason": refused.reason, "told": refused.text}, refused.status)
