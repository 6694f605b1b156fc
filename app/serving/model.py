"""The offline stand-in for a model as a process."""

from __future__ import annotations

from app.serving.ask import Ask
from app.serving.gunicorn_server import run_wsgi
from standins.model import serve


def run(ask: Ask) -> None:
    run_wsgi(ask, 32, lambda: serve(ask.settings))
