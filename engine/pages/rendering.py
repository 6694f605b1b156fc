"""Templates and what all of them know."""

import functools
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from aiohttp import web
from jinja2 import Environment, PackageLoader, StrictUndefined

from engine.clock import rfc3339, to_datetime
from engine.pages.paths import ROOT
from engine.pages.sessions import Sessions
from engine.pages.words import duration, kind_of, size

SESSIONS = web.AppKey("sessions", Sessions)


def render(request: web.Request, template: str, context: Mapping[str, Any], status: int = 200) -> web.Response:
    """The page; its token is worth something only in the session that it was made for."""
    sessions = request.app[SESSIONS]
    shared = {
        "root": ROOT,
        "path": request.path,
        "keyed": sessions.keyed,
        "token": sessions.token(sessions.cookie_in(request.cookies)),
    }
    text = _templates().get_template(template).render(shared, **context)
    return web.Response(text=text, content_type="text/html", status=status)


@functools.cache
def _templates() -> Environment:
    templates = Environment(
        loader=PackageLoader("engine.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters.update(
        duration=duration, kind=kind_of, part=_part, rfc3339=rfc3339, size=size, utc=_utc, status=str.lower
    )
    return templates


def _part(text: str) -> str:
    """One part of an address, whatever is in it."""
    return quote(text, safe="")


def _utc(ms: int) -> str:
    return to_datetime(ms).strftime("%Y-%m-%d %H:%M:%S UTC")
