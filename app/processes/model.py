"""The offline stand-in for a model as a process."""

from __future__ import annotations

from app.processes.gunicorn_server import run_wsgi
from app.processes.process import ProcessOptions
from standins.model import serve


def run(ask: ProcessOptions) -> None:
    run_wsgi(ask, 32, lambda: serve(ask.settings))
