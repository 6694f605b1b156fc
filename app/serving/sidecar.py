"""The sidecar as a process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.engine_client import make_client, open_database
from app.serving.ask import Ask
from app.serving.gunicorn_server import run_wsgi
from sidecar.nursery import Shut
from sidecar.process import serve
from sidecar.untried import untried

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication


def run(ask: Ask) -> None:
    def build() -> WSGIApplication:
        database = open_database(ask.settings, make_client(ask.settings))
        return serve(ask.settings, database, Shut(), untried, ask.url)

    run_wsgi(ask, 32, build)
