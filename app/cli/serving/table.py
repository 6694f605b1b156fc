"""The one table of processes: where each is built, and its port when none is given."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from app.cli.serving.ask import Ask

# Imported when it is asked for: a process waits for its own imports only.
PROCESSES = {
    "web": ("app.cli.serving.web", 8000),
    "engine": ("app.cli.serving.engine", 8288),
    "worker": ("app.cli.serving.worker", 8002),
    "sidecar": ("app.cli.serving.sidecar", 8003),
    "model": ("app.cli.serving.model", 8004),
    "studio": ("app.cli.serving.studio", 8005),
}


def runner(name: str) -> Callable[[Ask], None]:
    """The function that runs the process until it is told to stop."""
    run: Callable[[Ask], None] = import_module(PROCESSES[name][0]).run
    return run
