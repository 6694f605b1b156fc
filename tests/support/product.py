"""The product as a person runs it: `loopwright up` in a home of its own on free ports, talked to over HTTP."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, TypeVar

import httpx
import pytest

from app.supervision.home_state import ProcessRow, ProcessState, read_rows
from tests.support.engines import ENGINE_KEYS, named, retire_apps
from tests.support.environment import without_settings
from tests.support.template import COMMAND, EndedProcess, ForkedProcess, loaded_product
from tests.support.waiting import until

T = TypeVar("T")
_ADDRESS = re.compile(r"(http://127\.0\.0\.1:\d+)/\?token=([\w.~-]+)")
LOADED_FIRST = ()
"""Not a program of its own but a fork of one that has loaded everything: no start of a process costs seconds of
processor time.
"""
# Short pauses, so that a kill costs a test a second or two instead of half a minute.
QUICK = {
    "LOOPWRIGHT_LEASE_SECONDS": "5",
    "LOOPWRIGHT_POLL_SECONDS": "0.5",
    "LOOPWRIGHT_RETRY_SECONDS": "1",
    "LOOPWRIGHT_WATCH_SECONDS": "1",
}


class Product:
    """One running product. `client` speaks to its web process as its local person; `program` is what is run."""

    def __init__(
        self,
        home: Path,
        engine: str = "embedded",
        env: Mapping[str, str] | None = None,
        program: Sequence[str] = COMMAND,
    ) -> None:
        self.home = home
        self.engine_keys = ENGINE_KEYS if engine != "embedded" else {}
        self.env = {**without_settings(), **QUICK, **self.engine_keys, **(env or {})}
        self.output = home / "up.out"
        self.engine = engine
        self.program = program
        self.url = self.token = ""
        self.start_seconds = 0.0

    def start(self, seconds: float = 90) -> Product:
        began = time.monotonic()
        self.home.mkdir(parents=True, exist_ok=True)
        with self.output.open("wb") as output:
            self.process = self._begin(output)
        until("the address", lambda: _ADDRESS.search(self.said) or self.process.poll() is not None, seconds)
        found = _ADDRESS.search(self.said)
        assert found, f"`loopwright up` did not start:\n{self.said}\n{self.logs()}"
        self.url, self.token = found.groups()
        self.start_seconds = time.monotonic() - began
        headers = {"Authorization": f"Bearer {self.token}"}
        self.client = httpx.Client(base_url=self.url, headers=headers, timeout=30, trust_env=False, verify=False)
        return self

    def _begin(self, output: IO[bytes]) -> subprocess.Popen[bytes] | ForkedProcess:
        told = ["up", "--home", str(self.home), "--port", "0", "--engine", self.engine]
        if not self.program:
            return loaded_product().start(told, self.env, output.fileno())
        return subprocess.Popen(
            [*self.program, *told], stdout=output, stderr=subprocess.STDOUT, env=self.env, start_new_session=True
        )

    @property
    def said(self) -> str:
        return self.output.read_text(errors="replace")

    def logs(self, lines: int = 30) -> str:
        """Return the end of every process's log, for the message of a failing test."""
        parts = []
        for log in sorted((self.home / "logs").glob("*.log")):
            end = log.read_text(errors="replace").splitlines()[-lines:]
            parts.append("\n".join([f"--- {log.name}", *end]))
        return "\n".join(parts)

    def stop(self) -> int:
        """Stop it as Ctrl-C does at a terminal, and return its exit status."""
        if self.url:
            self.client.close()
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGINT)
        try:
            return self.process.wait(20)
        finally:
            if self.process.poll() is None:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait(10)

    def row(self, name: str) -> ProcessRow:
        rows = read_rows(self.home)
        assert rows is not None, f"nothing runs in {self.home}"
        return next(row for row in rows if row.name == name)

    def kill(self, name: str, *, wait: bool = True) -> None:
        """Kill one process with SIGKILL; by default wait until its successor is ready."""
        pid = until(f"a running {name}", lambda: self.row(name).pid)
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        if wait:
            until(f"{name} again", lambda: self._runs_anew(name, pid), 60)

    def _runs_anew(self, name: str, old: int) -> bool:
        row = self.row(name)
        return row.pid not in {None, old} and row.state is ProcessState.RUNNING

    def command(self, *words: str, stdin: str | None = None) -> EndedProcess:
        """Run `loopwright …` against this home; as a program of its own where the product is one."""
        told = [words[0], "--home", str(self.home), *words[1:]]
        if not self.program and stdin is None:
            return loaded_product().run(told, self.env)
        done = subprocess.run(
            [*COMMAND, *told],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=120,
            env=self.env,
            check=False,
        )
        return EndedProcess(done.returncode, done.stdout, done.stderr)

    def get(self, path: str, **query: str) -> Any:
        answer = self.client.get(path, params=query)
        assert answer.status_code == 200, f"GET {path} answered {answer.status_code}: {answer.text[:500]}"
        return answer.json()

    def items(self, path: str, **query: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.get(path, **query)["items"]
        return found

    def post(self, path: str, body: object = None, **headers: str) -> httpx.Response:
        return self.client.post(path, json={} if body is None else body, headers=headers)

    def say(self, text: str, **more: object) -> str:
        """Post a message and return its id."""
        answer = self.post("/api/v1/messages", {"text": text, **more})
        assert answer.status_code == 202, f"the message was answered {answer.status_code}: {answer.text[:500]}"
        return str(answer.json()["message_id"])

    def until(self, what: str, look: Callable[[], T], seconds: float = 60) -> T:
        """Wait until `look` returns something true, and return that; errors while a process is down mean not yet."""

        def patient() -> T | None:
            try:
                return look()
            except httpx.TransportError:
                return None

        try:
            found = until(what, patient, seconds, every=0.1)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.said}\n{self.logs()}") from None
        assert found is not None
        return found


@pytest.fixture(scope="module")
def products(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[..., Product]]:
    """Start products in new homes, with settings as keyword arguments; all of them end with the module.

    They are forks of one that has loaded everything, unless a `program` is named.
    """
    started: list[Product] = []

    def start(home: Path | None = None, *, program: Sequence[str] = LOADED_FIRST, **env: str) -> Product:
        place = home or tmp_path_factory.mktemp("home")
        product = Product(place, request.config.getoption("--engine"), env, program)
        started.append(product)
        return product.start()

    yield start
    for product in started:
        if hasattr(product, "process"):
            product.stop()
    if (engine := named(request.config, Path())) is not None:
        retire_apps(engine)


@pytest.fixture(scope="module")
def product(products: Callable[..., Product]) -> Product:
    """One product for all tests of the module."""
    return products()
