"""The worker's process: parts, functions, door, registration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.compose import compose
from app.worker.application import create_app
from app.worker.warming import warm_up
from core.orchestrator.engine import Engine
from core.settings import Settings, SettingsError
from functions.registry import all_functions

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication


def serve(settings: Settings, own_url: str = "") -> WSGIApplication:
    """Build the application and start its registration; called once the process has forked.

    `own_url` is where it listens, for a setup in which the engine reaches it there.
    """
    url = (settings.worker_url or own_url).rstrip("/")
    if not url:
        raise SettingsError(["LOOPWRIGHT_WORKER_URL: the worker needs the address under which the engine reaches it"])
    parts = compose(settings)
    functions = all_functions(parts.inngest, parts)
    app, registration = create_app(parts.inngest, functions, Engine.of(settings), url, parts.clock)
    registration.start()
    warm_up(parts.model)
    return app
