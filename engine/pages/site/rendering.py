"""Rendering of templates, with the values and filters that all of them use."""

import functools
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from aiohttp import web
from jinja2 import Environment, PackageLoader, StrictUndefined

from engine.api.access import PAGES_ROOT
from engine.formats.clock import rfc3339, to_datetime
from engine.pages.site.sessions import Sessions
from engine.pages.site.text import format_duration, format_size, name_step_kind

SESSIONS = web.AppKey("sessions", Sessions)


def render(request: web.Request, template: str, context: Mapping[str, Any], status: int = 200) -> web.Response:
    """Render a template as a page, with a token for actions that is valid in this session only."""
    sessions = request.app[SESSIONS]
    shared = {
        "root": PAGES_ROOT,
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
        duration=format_duration,
        kind=name_step_kind,
        part=_quote_segment,
        rfc3339=rfc3339,
        size=format_size,
        utc=_format_utc,
        status=str.lower,
    )
    return templates


def _quote_segment(text: str) -> str:
    """Quote text as one segment of an address."""
    return quote(text, safe="")


def _format_utc(ms: int) -> str:
    return to_datetime(ms).strftime("%Y-%m-%d %H:%M:%S UTC")
