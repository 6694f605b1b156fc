"""The web process: pages, API and event streams."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.compose import compose_dependencies
from app.processes.gunicorn_server import run_wsgi
from app.processes.process import ProcessOptions
from app.processes.readiness import refuse_unready
from app.web import create_app, hub_of

if TYPE_CHECKING:
    from flask import Flask


def run(options: ProcessOptions) -> None:
    """Serve until a signal stops it. Raise ClickException if it could not work."""
    refuse_unready(options, speaks_to_providers=True)
    built: list[Flask] = []

    def build() -> Flask:
        built.append(create_app(compose_dependencies(options.settings)))
        return built[0]

    def end_streams() -> None:
        for app in built:
            hub_of(app).stop()

    # Every open page occupies a thread with its event stream.
    run_wsgi(options, 64, build, end_streams)
