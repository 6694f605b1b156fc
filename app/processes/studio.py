"""The offline generation studio as a process."""

from __future__ import annotations

from app.processes.gunicorn_server import run_wsgi
from app.processes.process import ProcessOptions
from standins.studio.config import StudioConfig
from standins.studio.server import create_app


def run(options: ProcessOptions) -> None:
    """Serve the studio until a signal stops it."""
    config = StudioConfig(
        folder=options.settings.home / "studio",
        jobs_key=options.settings.jobs_key.get_secret_value(),
        public_url=options.url,
    )
    run_wsgi(options, 32, lambda: create_app(config))
