"""The offline generation studio as a process."""

from __future__ import annotations

from app.processes.gunicorn_server import run_wsgi
from app.processes.process import ProcessOptions
from standins.studio.config import StudioConfig
from standins.studio.server import create_app


def run(ask: ProcessOptions) -> None:
    config = StudioConfig(
        folder=ask.settings.home / "studio",
        jobs_key=ask.settings.jobs_key.get_secret_value(),
        public_url=ask.url,
    )
    run_wsgi(ask, 32, lambda: create_app(config))
