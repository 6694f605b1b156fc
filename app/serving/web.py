"""The web process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.compose import compose
from app.serving.ask import Ask
from app.serving.gunicorn_server import run_wsgi
from app.serving.readiness import refuse_unready
from app.web import create_app, hub_of

if TYPE_CHECKING:
    from flask import Flask


def run(ask: Ask) -> None:
    refuse_unready(ask, speaks_to_providers=True)
    built: list[Flask] = []

    def build() -> Flask:
        built.append(create_app(compose(ask.settings)))
        return built[0]

    def end_streams() -> None:
        for app in built:
            hub_of(app).stop()

    # Every open page holds a thread with its stream of events.
    run_wsgi(ask, 64, build, end_streams)
