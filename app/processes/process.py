"""A process of the product: the table of all of them, the options one is started with, and how it runs and ends."""

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
from core.process.parent_death import die_with_parent, load_prctl
from core.settings import Settings, load_settings


@dataclass(frozen=True)
class ProcessOptions:
    """`supervised`: a supervisor stops this process, so that Ctrl-C is not for it and a stop is quick."""

    settings: Settings
    host: str
    port: int
    supervised: bool = False
    test_clock: bool = False

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"


# Imported when it is asked for: a process waits for its own imports only.
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
    """The function that runs the process until it is told to stop."""
    run: Callable[[ProcessOptions], None] = import_module(module_of(name)).run
    return run


def run_process(name: str, home: Path, port: int) -> None:
    """Run a supervised process until it is told to stop. Raises SettingsError."""
    configure_logging()
    settings = load_settings(home=home)
    crash.arm(settings.crash_at, settings.home)
    load_runner(name)(ProcessOptions(settings, "127.0.0.1", port, supervised=True))


def configure_logging() -> None:
    """Lines with fields on standard error, which a supervisor sends into a file."""
    told = logging.StreamHandler()
    told.setFormatter(LogLineFormatter())
    logging.basicConfig(level=logging.INFO, handlers=[told])
    # They log the address of every request; addresses carry keys.
    for name in ("httpx", "httpx2"):
        logging.getLogger(name).setLevel(logging.WARNING)


__all__ = ["die_with_parent", "die_with_stdin", "load_prctl"]


def die_with_stdin() -> None:
    """Watch standard input in a thread and end this process at its end: the way for systems without prctl.

    The supervisor holds the only other end of that pipe, so its end is the supervisor's.
    """

    def watch() -> None:
        while os.read(0, 1024):
            pass
        os._exit(1)

    threading.Thread(target=watch, name="die-with-stdin", daemon=True).start()
