"""The run's own studio: the product's offline studio as a process that can be told to misbehave, and is killed."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import httpx

from tests.studio.running import KEY, Studio


class OwnStudio:
    """`kill` ends it with SIGKILL and starts it again on its port and folder, in the background."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._studio = Studio(folder, pace=0.5, faults=True)
        self._starting: threading.Thread | None = None
        self._http = httpx.Client(base_url=self._studio.url, timeout=10, trust_env=False)

    @property
    def settings(self) -> dict[str, str]:
        """What a product is told to work with it."""
        named = {"LOOPWRIGHT_GENERATORS": "jobs", "LOOPWRIGHT_JOBS_URL": self._studio.url}
        return {**named, "LOOPWRIGHT_JOBS_KEY": KEY}

    def start(self) -> OwnStudio:
        self._studio.start()
        return self

    def kill(self) -> None:
        self._wait()
        self._studio.kill()
        self._starting = threading.Thread(target=self._studio.start, name="studio-again", daemon=True)
        self._starting.start()

    def misbehave(self, fault: str) -> bool:
        """Order one fault; False while the studio is down."""
        try:
            return self._http.post("/faults", json={"next": fault, "times": 1}).is_success
        except httpx.TransportError:
            return False

    def heal(self) -> None:
        self._wait()
        self._http.delete("/faults").raise_for_status()

    def bill(self) -> list[dict[str, Any]]:
        """Every charge it has made."""
        items: list[dict[str, Any]] = self._http.get("/bill").raise_for_status().json()["items"]
        return items

    def close(self) -> None:
        self._wait()
        self._http.close()
        self._studio.client.close()
        self._studio.kill()

    def _wait(self) -> None:
        if self._starting is not None:
            self._starting.join(60)
            self._starting = None
