"""What must be right before anything is started; each function returns its problems, a line each."""

from __future__ import annotations

import os
import socket
import tempfile
from importlib.metadata import entry_points
from pathlib import Path
from urllib.parse import urlsplit

from core.settings import Settings

_CONNECT_SECONDS = 3.0


def home_problems(home: Path) -> list[str]:
    """Make the home where it is missing, readable by its owner only, and see that it can be written."""
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=home):
            pass
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        return [f"home {home} cannot be written ({reason.lower()}): choose another with --home or LOOPWRIGHT_HOME"]
    return []


def generator_problems(settings: Settings) -> list[str]:
    """Is every generator known, and has it an address?"""
    chosen = settings.generators
    known = {"jobs", "openai", "studio", *entry_points(group="loopwright.generators").names}
    problems = [
        f"LOOPWRIGHT_GENERATORS: {name!r} is none of {', '.join(sorted(known))}" for name in chosen if name not in known
    ]
    if "jobs" in chosen and "studio" in chosen:
        problems.append("LOOPWRIGHT_GENERATORS: `jobs` and `studio` share one address: choose one of them")
    elif "jobs" in chosen and not settings.jobs_url:
        problems.append("LOOPWRIGHT_JOBS_URL: the generator `jobs` needs its address")
    return problems


def engine_problems(address: str) -> list[str]:
    """Is somebody listening at the address of an engine that is not ours?"""
    parts = urlsplit(address)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        socket.create_connection((parts.hostname or "", port), timeout=_CONNECT_SECONDS).close()
    except OSError as error:
        return [f"engine {address} does not answer ({error}): start it, or leave out --engine to use the embedded one"]
    return []
