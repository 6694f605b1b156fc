"""Render a page: who looks at it, where its stream goes on, and which parts of the product are stand-ins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flask import Flask, Response, make_response, render_template

from app.web.http.authorization import csrf_token
from app.web.http.dependencies import WebDependencies
from app.web.http.endpoints import Endpoints
from app.web.pages import text_filters
from app.web.pages.text_filters import render_markdown
from app.web.stream.frames import newest_seq
from core.identity import Speaker
from core.settings import Settings

Fill = Callable[..., dict[str, Any]]
Beyond = Callable[..., dict[str, Any]]
NAVIGATION = (
    ("/", "Thread"),
    ("/tasks", "Tasks"),
    ("/objects", "Objects"),
    ("/memory", "Memory"),
    ("/skills", "Skills"),
    ("/runs", "Runs"),
    ("/settings", "Settings"),
)


def add_page(door: Endpoints, path: str, template: str, fill: Fill, *, beyond: Beyond | None = None) -> None:
    """A page at `path`; `fill(scope, speaker, **arguments)` answers what its template shows.

    What somebody else has to say is in `beyond(speaker, **arguments)`: after the rows are read, so that no transaction
    waits.
    """

    def show(speaker: Speaker, **arguments: str) -> Response:
        return render_page(door.dependencies, speaker, template, fill, beyond, **arguments)

    door.serves("GET", path, "A page", scope="read")(show, template.partition(".")[0])


def render_page(
    dependencies: WebDependencies,
    speaker: Speaker,
    template: str,
    fill: Fill,
    beyond: Beyond | None = None,
    **arguments: str,
) -> Response:
    """The page, and the number of the change after which its stream goes on."""
    with dependencies.database.reading(speaker.workspace_id) as scope:
        # Before the rows are read: what changes in between is shown twice rather than missed.
        seq = newest_seq(scope)
        filled = fill(scope, speaker, **arguments)
    if beyond is not None:
        filled = {**filled, **beyond(speaker, **arguments)}
    answer = make_response(
        render_template(
            template,
            seq=seq,
            csrf=csrf_token(),
            speaker=speaker,
            standins=active_standins(dependencies.settings),
            **filled,
        )
    )
    answer.headers["Cache-Control"] = "no-store"
    return answer


def active_standins(settings: Settings) -> list[str]:
    """Which parts of the product are offline stand-ins just now."""
    model = ["model"] if settings.offline_model else []
    return [*model, *(["studio"] if "studio" in settings.generators else [])]


def prepare_templates(app: Flask) -> None:
    app.jinja_env.filters["markdown"] = render_markdown
    for name in text_filters.__all__:
        app.jinja_env.filters[name] = getattr(text_filters, name)
    app.jinja_env.globals["navigation"] = NAVIGATION
    app.jinja_env.trim_blocks = True
    app.jinja_env.lstrip_blocks = True
