"""A process from its command line's facts to its end."""

from __future__ import annotations

import logging
from pathlib import Path

from app.serving.ask import Ask
from app.serving.table import runner
from core.process import crash
from core.process.log_format import LogLineFormatter
from core.settings import load_settings


def run_process(name: str, home: Path, port: int) -> None:
    """Run a supervised process until it is told to stop. Raises SettingsError."""
    begin_logging()
    settings = load_settings(home=home)
    crash.arm(settings.crash_at, settings.home)
    runner(name)(Ask(settings, "127.0.0.1", port, supervised=True))


def begin_logging() -> None:
    """Lines with fields on standard error, which a supervisor sends into a file."""
    told = logging.StreamHandler()
    told.setFormatter(LogLineFormatter())
    logging.basicConfig(level=logging.INFO, handlers=[told])
    # They log the address of every request; addresses carry keys.
    for name in ("httpx", "httpx2"):
        logging.getLogger(name).setLevel(logging.WARNING)
