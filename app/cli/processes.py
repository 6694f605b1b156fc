"""The one table of what `serve NAME` runs."""

from __future__ import annotations

from dataclasses import dataclass

LOCAL = "127.0.0.1"


@dataclass(frozen=True)
class Served:
    """A WSGI process: `factory` (`module:function`) is called with the settings once the process has forked.

    `help` says what it is in one line.
    """

    factory: str
    threads: int
    help: str


PROCESSES = {
    "web": Served("app.web:serve", 64, "the HTTP API, the pages, the event stream"),
    "worker": Served("app.worker:serve", 32, "the agent's functions"),
    "sidecar": Served("app.sidecar:serve", 32, "skill files"),
    "model": Served("app.standins.model:serve", 32, "the offline stand-in for a model"),
    "studio": Served("app.standins.studio:serve", 32, "the offline stand-in for generation services"),
}
