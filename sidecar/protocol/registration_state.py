"""Registration of one skill: which version this process has registered with the engine."""

from __future__ import annotations

import threading
from typing import Any

from core.orchestrator.engine import Engine
from core.orchestrator.registration import engine_lists_app
from sidecar.protocol.registration import address_functions, register_app
from skills.book.versions import CheckedVersion


class RegistrationState:
    """Remembers what this process registered; a new process registers everything once more."""

    def __init__(self, stem: str, url: str, engine: Engine) -> None:
        self._app_id = f"skill-{stem}"
        self._url = url
        self._engine = engine
        self._lock = threading.Lock()
        self._registered: str | None = None

    def is_pending(self, version: CheckedVersion | None) -> bool:
        """Whether the engine does not know yet that this version serves, or with None, that no version does."""
        return self._registered != _version_id(version)

    def register(self, version: CheckedVersion | None) -> None:
        """Register the functions of a version, or with None, retire the skill's app.

        Raises InvalidError with the engine's reason, RefusedError when it refuses our key, or UnavailableError.
        """
        functions: list[dict[str, Any]] = address_functions(version, self._url) if version is not None else []
        with self._lock:
            if functions or self._registered is not None or engine_lists_app(self._engine, self._app_id):
                sha = version.sha if version is not None else ""
                register_app(self._engine, self._app_id, self._url, functions, sha)
            self._registered = _version_id(version)

    def invalidate(self) -> None:
        """Count as unregistered: the engine may have lost its state."""
        self._registered = None

    def settle(self, version: CheckedVersion | None) -> None:
        """Count a version as registered that the engine refused: it keeps what it knows, so trying again is useless."""
        self._registered = _version_id(version)


def _version_id(version: CheckedVersion | None) -> str:
    return version.id if version is not None else ""
