"""Engines for tests, each a process of its own: the embedded one and, where `INNGEST_BIN` names it, Inngest's. In their
place stands the server whose address `--engine` gives.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import httpx
import pytest
import sqlalchemy as sa

from app.supervision.ports import free_ports
from core.orchestrator.engine import Engine
from sidecar.protocol.registration import register_app
from tests.support.environment import without_settings
from tests.support.template import COMMAND, ForkedProcess, loaded_product
from tests.support.waiting import until

CONFIG = Path(__file__).parents[2] / "inngest.json"
"""The options with which people start their server."""
# Read before the tests' clean environment hides them.
INNGEST_BIN = os.environ.get("INNGEST_BIN") or shutil.which("inngest")
ENGINE_KEYS = {name: os.environ[name] for name in ("INNGEST_SIGNING_KEY", "INNGEST_EVENT_KEY") if os.environ.get(name)}
"""The keys of the server that `--engine` names."""
SIGNING_KEY = "0123456789abcdef" * 4
EVENT_KEY = "tests"


@dataclass
class RunningEngine:
    """One engine; `kill` is SIGKILL, `start` starts it again on the same port and folder."""

    argv: list[str]
    url: str
    folder: Path
    health: str
    env: dict[str, str] = field(default_factory=dict)
    signing_key: str | None = None
    event_key: str | None = None
    process: subprocess.Popen[bytes] | ForkedProcess | None = None

    @property
    def is_ours(self) -> bool:
        """Whether a test may kill it and no other test has used it."""
        return bool(self.argv)

    @property
    def client(self) -> Engine:
        return Engine.at(self.url, self.signing_key, self.event_key)

    def start(self) -> None:
        with (self.folder / "engine.log").open("ab") as log:
            self.process = self._begin(log)
        until(f"the engine at {self.url}", self._answers, 60)

    def _begin(self, log: IO[bytes]) -> subprocess.Popen[bytes] | ForkedProcess:
        env = {**without_settings(), **self.env}
        if tuple(self.argv[: len(COMMAND)]) == COMMAND:
            # To load it anew costs a second of processor time.
            return loaded_product().start(self.argv[len(COMMAND) :], env, log.fileno())
        return subprocess.Popen(self.argv, cwd=self.folder, env=env, stdout=log, stderr=log)

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait(10)
            self.process = None

    def _answers(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, (self.folder / "engine.log").read_text()[-2000:]
        try:
            return httpx.get(self.url + self.health, timeout=2).status_code == 200
        except httpx.HTTPError:
            return False


def embedded(folder: Path) -> RunningEngine:
    """Start the embedded engine, with keys, in a home of its own."""
    port = free_ports(1)[0]
    argv = [*COMMAND, "serve", "engine", "--home", str(folder), "--port", str(port)]
    env = {"INNGEST_SIGNING_KEY": SIGNING_KEY, "INNGEST_EVENT_KEY": EVENT_KEY, "LOOPWRIGHT_RETRY_SECONDS": "1"}
    return RunningEngine(argv, f"http://127.0.0.1:{port}", folder, "/health", env, SIGNING_KEY, EVENT_KEY)


def inngest_dev(folder: Path) -> RunningEngine:
    """Start Inngest's dev server, without keys."""
    if not INNGEST_BIN:
        pytest.skip("no Inngest server: set INNGEST_BIN")
    port, *others = free_ports(4)
    names = ("connect-gateway-port", "connect-executor-grpc-port", "connect-gateway-grpc-port")
    argv = [INNGEST_BIN, "dev", "--config", str(CONFIG), "--retry-interval", "1"]
    argv += ["--port", str(port), *(f"--{name}={other}" for name, other in zip(names, others, strict=True))]
    return RunningEngine(argv, f"http://127.0.0.1:{port}", folder, "/health")


def inngest_start(folder: Path) -> RunningEngine:
    """Start Inngest's self-hosted server, with keys."""
    dev = inngest_dev(folder)
    argv = [dev.argv[0], "start", *dev.argv[2:]]
    argv += ["--signing-key", SIGNING_KEY, "--event-key", EVENT_KEY]
    return RunningEngine(argv, dev.url, folder, dev.health, {}, SIGNING_KEY, EVENT_KEY)


@contextmanager
def running(engine: RunningEngine) -> Iterator[RunningEngine]:
    engine.start()
    try:
        yield engine
    finally:
        engine.kill()


def moved_by_tests(folder: Path) -> RunningEngine:
    """Start the embedded engine with a clock that only a test moves."""
    engine = embedded(folder)
    engine.argv.append("--test-clock")
    return engine


KINDS = {
    "embedded": embedded,
    "inngest": inngest_dev,
    "inngest_start": inngest_start,
    "inngest_postgres": inngest_start,
}
NAMED = "named"
every_engine = pytest.mark.engines(*KINDS)
"""The kinds of engine for tests of what each reports in its own way: each keeps its history in another database."""


def named(config: pytest.Config, folder: Path) -> RunningEngine | None:
    """Return the server that `--engine` names, if it does."""
    url = str(config.getoption("--engine"))
    if url == "embedded":
        return None
    keys = (ENGINE_KEYS.get("INNGEST_SIGNING_KEY"), ENGINE_KEYS.get("INNGEST_EVENT_KEY"))
    return RunningEngine([], url.rstrip("/"), folder, "/health", {}, *keys)


def retire_apps(engine: RunningEngine) -> None:
    """Retire the apps that the server knows, so that it starts no run of theirs, on a schedule or otherwise."""
    client = engine.client
    cursor: dict[str, str] = {}
    while True:
        found = client.get("/v2/apps", {"limit": 100, **cursor})
        for app in found.get("data", ()):
            register_app(client, app["id"], "http://127.0.0.1:9/api/inngest", [], "")
        if not found["page"].get("hasMore"):
            return
        cursor = {"cursor": found["page"]["cursor"]}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that takes `any_engine` on each kind of its marker `engines`, or only on the server of `--engine`."""
    if "any_engine" not in metafunc.fixturenames:
        return
    mark = metafunc.definition.get_closest_marker("engines")
    kinds = mark.args if mark is not None else ("embedded", "inngest")
    if metafunc.config.getoption("--engine") != "embedded":
        kinds = (NAMED,)
    marked = [pytest.param(kind, marks=[pytest.mark.postgres] if kind.endswith("postgres") else []) for kind in kinds]
    metafunc.parametrize("any_engine", marked, indirect=True, scope="module")


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark for `-m engine` the tests that can run on the server that `--engine` names."""
    if {"any_engine", "products"} & set(getattr(item, "fixturenames", ())):
        item.add_marker(pytest.mark.engine)


@pytest.fixture(scope="module")
def any_engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningEngine]:
    """The engine that the tests of a module share."""
    folder = tmp_path_factory.mktemp("engine")
    if (given := named(request.config, folder)) is not None:
        yield given
        retire_apps(given)
        return
    engine = KINDS[request.param](folder)
    if request.param == "inngest_postgres":
        history = sa.make_url(request.getfixturevalue("postgres_url")).set(drivername="postgres")
        engine.argv += ["--postgres-uri", history.render_as_string(hide_password=False)]
    with running(engine):
        yield engine
