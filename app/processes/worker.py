"""The worker: the process that serves the agent's functions to the engine."""

from __future__ import annotations

import gc
import threading
from typing import TYPE_CHECKING

from app.compose import compose_dependencies
from app.processes.gunicorn_server import run_wsgi
from app.processes.process import ProcessOptions
from app.processes.readiness import refuse_unready
from app.processes.worker_app import create_worker_app
from core.llm.port import Model
from core.orchestrator.engine import Engine
from core.settings import Settings, SettingsError
from functions.registry import make_functions
from router.language import language_of

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication


def warm_up(model: Model) -> None:
    """Load the model's client and the language table in a thread; both are slow to import."""
    threading.Thread(target=_load_slow_parts, args=(model,), name="warming", daemon=True).start()


def _load_slow_parts(model: Model) -> None:
    model.get_ready()
    language_of("What shall we make?")
    # These objects stay for good, so the garbage collector need not scan them while a step waits.
    gc.collect()
    gc.freeze()


def build_worker(settings: Settings, own_url: str = "") -> WSGIApplication:
    """Build the application and start its registration. Call it after the fork.

    `own_url` is where it listens; used if LOOPWRIGHT_WORKER_URL is not set.
    """
    url = (settings.worker_url or own_url).rstrip("/")
    if not url:
        raise SettingsError(["LOOPWRIGHT_WORKER_URL: the worker needs the address under which the engine reaches it"])
    dependencies = compose_dependencies(settings)
    functions = make_functions(dependencies.inngest, dependencies)
    app, registration = create_worker_app(dependencies.inngest, functions, Engine.of(settings), url, dependencies.clock)
    registration.start()
    warm_up(dependencies.model)
    return app


def run(options: ProcessOptions) -> None:
    """Serve until a signal stops it. Raise ClickException if it could not work."""
    refuse_unready(options, speaks_to_providers=True, has_tools=True)
    run_wsgi(options, 32, lambda: build_worker(options.settings, options.url))
