"""Engines for tests, each a process of its own: the embedded one and, where `INNGEST_BIN` names it, Inngest's."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest
import sqlalchemy as sa

from app.supervise.ports import free_ports
from tests.support.environment import without_settings
from tests.support.waiting import until

CONFIG = Path(__file__).parents[2] / "inngest.json"
"""What people start theirs with."""
# Read before the tests' clean environment hides it.
INNGEST_BIN = os.environ.get("INNGEST_BIN") or shutil.which("inngest")
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
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with (self.folder / "engine.log").open("ab") as log:
            self.process = subprocess.Popen(
                self.argv, cwd=self.folder, env={**without_settings(), **self.env}, stdout=log, stderr=log
            )
        until(f"the engine at {self.url}", self._answers, 60)

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
    """The keyed embedded engine in a home of its own."""
    port = free_ports(1)[0]
    argv = [sys.executable, "-P", "-m", "app.cli", "serve", "engine", "--home", str(folder), "--port", str(port)]
    env = {"INNGEST_SIGNING_KEY": SIGNING_KEY, "INNGEST_EVENT_KEY": EVENT_KEY, "LOOPWRIGHT_RETRY_SECONDS": "1"}
    return RunningEngine(argv, f"http://127.0.0.1:{port}", folder, "/health", env, SIGNING_KEY, EVENT_KEY)


def inngest_dev(folder: Path) -> RunningEngine:
    """Inngest's own dev server, keyless."""
    if not INNGEST_BIN:
        pytest.skip("no Inngest server: set INNGEST_BIN")
    port, *others = free_ports(4)
    names = ("connect-gateway-port", "connect-executor-grpc-port", "connect-gateway-grpc-port")
    argv = [INNGEST_BIN, "dev", "--config", str(CONFIG), "--retry-interval", "1"]
    argv += ["--port", str(port), *(f"--{name}={other}" for name, other in zip(names, others, strict=True))]
    return RunningEngine(argv, f"http://127.0.0.1:{port}", folder, "/health")


def inngest_start(folder: Path) -> RunningEngine:
    """Inngest's server as it is self-hosted: keyed."""
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
    """The embedded engine with a clock that stands still until a test moves it."""
    engine = embedded(folder)
    engine.argv.append("--test-clock")
    return engine


KINDS = {
    "embedded": embedded,
    "inngest": inngest_dev,
    "inngest_start": inngest_start,
    "inngest_postgres": inngest_start,
}
every_engine = pytest.mark.parametrize(
    "any_engine",
    [pytest.param(kind, marks=[pytest.mark.postgres] if kind.endswith("postgres") else []) for kind in KINDS],
    indirect=True,
)
"""For tests of what each engine tells in its own way: its history lies in another kind of database with each."""


@pytest.fixture(scope="module", params=["embedded", "inngest"])
def any_engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningEngine]:
    """Each test that takes it runs on the embedded engine and on Inngest's; the tests of a module share them."""
    engine = KINDS[request.param](tmp_path_factory.mktemp("engine"))
    if request.param == "inngest_postgres":
        history = sa.make_url(request.getfixturevalue("postgres_url")).set(drivername="postgres")
        engine.argv += ["--postgres-uri", history.render_as_string(hide_password=False)]
    with running(engine):
        yield engine
