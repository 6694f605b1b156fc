"""The processes of the product: a table of all, the options each starts with, and how one runs and ends."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from core.process import crash
from core.process.log_format import LogLineFormatter
from core.settings import Settings, load_settings


@dataclass(frozen=True)
class ProcessOptions:
    """Options a process starts with. If `supervised`, a supervisor stops it: it ignores Ctrl-C and stops quickly."""

    settings: Settings
    host: str
    port: int
    supervised: bool = False
    test_clock: bool = False

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"


# Imported by name when needed, so that a process waits for its own imports only.
PROCESSES = {
    "web": ("app.processes.web", 8000),
    "engine": ("app.processes.engine", 8288),
    "worker": ("app.processes.worker", 8002),
    "sidecar": ("app.processes.sidecar", 8003),
    "model": ("app.processes.model", 8004),
    "studio": ("app.processes.studio", 8005),
    "index": ("app.processes.index", 8006),
}


def module_of(name: str) -> str:
    return PROCESSES[name][0]


def load_runner(name: str) -> Callable[[ProcessOptions], None]:
    """Import a process's module and return its `run`."""
    run: Callable[[ProcessOptions], None] = import_module(module_of(name)).run
    return run


def run_process(name: str, home: Path, port: int) -> None:
    """Run a supervised process until a signal stops it. Raise SettingsError."""
    configure_logging()
    settings = load_settings(home=home)
    crash.arm(settings.crash_at, settings.home)
    load_runner(name)(ProcessOptions(settings, "127.0.0.1", port, supervised=True))


def configure_logging() -> None:
    """Log lines with fields to standard error, which a supervisor writes to a file."""
    handler = logging.StreamHandler()
    handler.setFormatter(LogLineFormatter())
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    # At INFO they log the address of every request, which may contain a key.
    for name in ("httpx", "httpx2"):
        logging.getLogger(name).setLevel(logging.WARNING)


def die_with_stdin() -> None:
    """End this process when standard input closes; for systems without prctl. Watches it in a thread.

    The supervisor holds the other end of that pipe, so it closes when the supervisor dies.
    """

    def watch() -> None:
        while os.read(0, 1024):
            pass
        os._exit(1)

    threading.Thread(target=watch, name="die-with-stdin", daemon=True).start()
