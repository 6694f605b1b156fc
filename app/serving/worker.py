"""The worker as a process."""

from __future__ import annotations

from app.serving.ask import Ask
from app.serving.gunicorn_server import run_wsgi
from app.serving.readiness import refuse_unready
from app.worker.process import serve


def run(ask: Ask) -> None:
    refuse_unready(ask, speaks_to_providers=True)
    run_wsgi(ask, 32, lambda: serve(ask.settings, ask.url))
