"""The offline stand-in for a model as a process."""

from __future__ import annotations

from app.processes.gunicorn_server import run_wsgi
from app.processes.process import ProcessOptions
from standins.model import serve


def run(options: ProcessOptions) -> None:
    """Serve the stand-in until a signal stops it."""
    run_wsgi(options, 32, lambda: serve(options.settings))
