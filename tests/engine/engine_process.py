"""A real engine process that a test can kill and start again on its database."""

import contextlib
import json
import os
import random
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from tests.engine.waiting import eventually
from tests.support.template import ForkedProcess, template_of

ROOT = Path(__file__).parents[2]
LOADED = ("engine.__main__", "psycopg2")


# Below the ports that systems give to outgoing connections: one of those could take it before the server does.
_PORTS = range(20_000, 32_000)


def free_port() -> int:
    """Drawn by lot, so that test runs side by side do not get the same one."""
    dice = random.SystemRandom()
    while True:
        port = dice.choice(_PORTS)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


class EngineProcess:
    """An engine as `python -m engine` runs it, on a port of its own; `flags` are added to its command line."""

    def __init__(self, database_url: str, *flags: str, retry_interval: float | None = 0.05) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._arguments = ["--port", str(self.port), "--database-url", database_url, *flags]
        if retry_interval is not None:
            self._arguments += ["--retry-interval", str(retry_interval)]
        self._process: ForkedProcess | None = None
        self.headers: dict[str, str] = {}

    def begin(self) -> None:
        """Start without waiting until it answers."""
        self._process = template_of(*LOADED).start(self._arguments, os.environ)

    def start(self) -> "EngineProcess":
        self.begin()
        try:
            eventually(self._answers, within=60)
        except BaseException:
            self.close()
            raise
        return self

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def use_port(self, port: int) -> None:
        self._arguments[self._arguments.index("--port") + 1] = str(port)

    def refused(self) -> tuple[int, str]:
        """Start where it must not; returns the exit status and what it told."""
        command = [sys.executable, "-m", "engine", *self._arguments]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=30, check=False)
        return done.returncode, done.stderr

    def kill(self) -> None:
        """SIGKILL, as a crash would."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def stop(self) -> int:
        """SIGTERM; returns the exit status."""
        assert self._process is not None
        self._process.terminate()
        return self._process.wait(timeout=20)

    def close(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self.kill()

    def send(self, *events: dict[str, Any], key: str = "test") -> list[str]:
        """Event ids."""
        answer = self.request("POST", f"/e/{key}", list(events))
        ids: list[str] = answer["ids"]
        return ids

    def get(self, path: str) -> Any:
        return self.request("GET", path)

    def request(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Any:
        """The JSON of the answer; raises `urllib.error.HTTPError` from 400 on."""
        data = None if body is None else json.dumps(body).encode()
        told = {"content-type": "application/json", **self.headers, **(headers or {})}
        call = urllib.request.Request(f"{self.url}{path}", data=data, method=method, headers=told)
        with urllib.request.urlopen(call, timeout=30) as response:
            text = response.read()
            return json.loads(text) if text else None

    def runs_of(self, event_id: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.get(f"/v1/events/{event_id}/runs")["data"]
        return found

    def ended_run(self, event_id: str, *, within: float = 20) -> dict[str, Any]:
        """The only run of an event, once it has ended."""

        def look() -> dict[str, Any] | None:
            runs = self.runs_of(event_id)
            return runs[0] if runs and all(run["ended_at"] for run in runs) else None

        run = eventually(look, within=within)
        assert len(self.runs_of(event_id)) == 1
        return run

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, "the engine ended at start"
        try:
            urllib.request.urlopen(f"{self.url}/health", timeout=5).close()
        except (urllib.error.URLError, OSError):
            return False
        return True
