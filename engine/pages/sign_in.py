"""Signing in to a keyed engine's pages, and out."""

from urllib.parse import urlsplit

from aiohttp import web

from engine.api.state import state_of
from engine.pages.paths import ROOT
from engine.pages.rendering import SESSIONS, render
from engine.pages.sessions import LIFETIME_MS

_MOST = 8192


async def get_sign_in(request: web.Request) -> web.Response:
    if not request.app[SESSIONS].keyed:
        return _go(ROOT)
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
    response = _go(wanted if _is_ours(wanted) else ROOT)
    response.set_cookie(
        sessions.cookie_name,
        sessions.begin(state_of(request).core.clock.now_ms()),
        max_age=LIFETIME_MS // 1000,
        path=ROOT,
        httponly=True,
        samesite="Strict",
        # A proxy that speaks TLS for the engine shows only in where the form came from.
        secure=request.secure or request.headers.get("origin", "").startswith("https://"),
    )
    return response


async def post_sign_out(request: web.Request) -> web.Response:
    """The browser forgets the session; a copy of its cookie ends with its time."""
    response = web.json_response({"goto": f"{ROOT}/sign-in"})
    response.del_cookie(request.app[SESSIONS].cookie_name, path=ROOT)
    return response


def _is_ours(address: str) -> bool:
    """Whether it is the address of a page: a path, without a host, whatever a browser may make of it."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    plain = address.isascii() and address.isprintable() and "\\" not in address
    return plain and not parts.scheme and not parts.netloc and (parts.path == ROOT or parts.path.startswith(f"{ROOT}/"))


def _go(address: str) -> web.Response:
    return web.Response(status=303, headers={"Location": address})
