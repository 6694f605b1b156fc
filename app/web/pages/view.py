"""Rendering of a page, with its viewer, the place where its stream continues, and the active stand-ins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flask import Flask, Response, make_response, render_template

from app.web.http.authorization import csrf_token
from app.web.http.dependencies import WebDependencies
from app.web.http.endpoints import Endpoints
from app.web.pages.text_filters import FILTERS
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


def add_page(endpoints: Endpoints, path: str, template: str, fill: Fill, *, beyond: Beyond | None = None) -> None:
    """Register a page at `path`; `fill(scope, speaker, **arguments)` returns the context of its template.

    `beyond(speaker, **arguments)` adds the data of other services, after the rows are read, so that no transaction
    waits.
    """

    def show(speaker: Speaker, **arguments: str) -> Response:
        return render_page(endpoints.dependencies, speaker, template, fill, beyond, **arguments)

    endpoints.serves("GET", path, "A page", scope="read")(show, template.partition(".")[0])


def render_page(
    dependencies: WebDependencies,
    speaker: Speaker,
    template: str,
    fill: Fill,
    beyond: Beyond | None = None,
    **arguments: str,
) -> Response:
    """Return the page, with the number of the change after which its stream continues."""
    with dependencies.database.reading(speaker.workspace_id) as scope:
        # Read before the rows, so that a change in between arrives again instead of being missed.
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
    """Return which parts of the product are offline stand-ins."""
    model = ["model"] if settings.offline_model else []
    return [*model, *(["studio"] if "studio" in settings.generators else [])]


def prepare_templates(app: Flask) -> None:
    """Add our filters and globals to the templates."""
    app.jinja_env.filters.update(FILTERS)
    app.jinja_env.globals["navigation"] = NAVIGATION
    app.jinja_env.trim_blocks = True
    app.jinja_env.lstrip_blocks = True
