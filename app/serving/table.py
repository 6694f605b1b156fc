"""The one table of processes: where each is built, and its port when none is given."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from app.serving.ask import Ask

# Imported when it is asked for: a process waits for its own imports only.
PROCESSES = {
    "web": ("app.serving.web", 8000),
    "engine": ("app.serving.engine", 8288),
    "worker": ("app.serving.worker", 8002),
    "sidecar": ("app.serving.sidecar", 8003),
    "model": ("app.serving.model", 8004),
    "studio": ("app.serving.studio", 8005),
    "index": ("app.serving.index", 8006),
}


def module_of(name: str) -> str:
    return PROCESSES[name][0]


def runner(name: str) -> Callable[[Ask], None]:
    """The function that runs the process until it is told to stop."""
    run: Callable[[Ask], None] = import_module(module_of(name)).run
    return run
