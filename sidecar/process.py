"""The sidecar's process: folders, shelf, door."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from core.orchestrator.engine import Engine
from core.orchestrator.engine_clock import clock_of
from core.settings import Settings, SettingsError
from sidecar.application import create_app
from sidecar.shelf import Shelf, ShelfConfig

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication


def serve(settings: Settings, own_url: str = "") -> WSGIApplication:
    """Build the application and start watching; called once the process has forked.

    `own_url` is where it listens, for a setup in which the engine reaches it there.
    """
    url = (settings.sidecar_url or own_url).rstrip("/")
    if not url:
        raise SettingsError(["LOOPWRIGHT_SIDECAR_URL: the sidecar needs the address under which the engine reaches it"])
    home = settings.home.resolve()
    engine, clock = Engine.of(settings), clock_of(settings)
    shelf = Shelf(ShelfConfig(folders_of(settings, home), home / "sidecar", url, engine, clock))
    shelf.start()
    return create_app(shelf, engine, clock)


def folders_of(settings: Settings, home: Path) -> tuple[Path, ...]:
    """People's own folders first: their skills outrank the agent's of the same name."""
    own = [Path(part).expanduser().resolve() for part in settings.skill_path.split(os.pathsep) if part.strip()]
    return (*own, home / "workspace" / "functions")
