"""What the engine was told of a skill: the functions of the version that serves, or none."""

from __future__ import annotations

import threading
from typing import Any

from core.orchestrator.registration import engine_lists_app
from sidecar.addressed import addressed
from sidecar.registering import register
from sidecar.tools import Tools
from skills.versions import Version


class Told:
    """Remembers what this process told the engine, since a start tells everything anew."""

    def __init__(self, stem: str, url: str, tools: Tools) -> None:
        self._app_id = f"skill-{stem}"
        self._url = url
        self._tools = tools
        self._lock = threading.Lock()
        self._told: str | None = None

    def is_news(self, version: Version | None) -> bool:
        """Whether the engine has yet to hear that this serves."""
        return self._told != _name(version)

    def tell(self, version: Version | None) -> None:
        """Raises InvalidError with the engine's reason, RefusedError for our key, or UnavailableError."""
        functions: list[dict[str, Any]] = addressed(version, self._url) if version is not None else []
        with self._lock:
            if functions or self._told is not None or engine_lists_app(self._tools.engine, self._app_id):
                register(
                    self._tools.engine, self._app_id, self._url, functions, version.sha if version is not None else ""
                )
            self._told = _name(version)

    def tell_anew(self) -> None:
        """What was told counts as untold."""
        self._told = None

    def forget(self, version: Version | None) -> None:
        """The engine refuses it, and keeps what it knows: there is nothing more to tell."""
        self._told = _name(version)


def _name(version: Version | None) -> str:
    return version.id if version is not None else ""
