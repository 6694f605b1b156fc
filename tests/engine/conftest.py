"""Engines and apps for these tests."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import inngest
import pytest

from tests.engine.app_server import AppServer
from tests.engine.clients import close_client
from tests.engine.engine_process import EngineProcess

ServeApp = Callable[[EngineProcess, inngest.Inngest, list[inngest.Function[Any]]], AppServer]

BOTH_DATABASES = ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)]


@pytest.fixture(scope="session")
def sqlite_engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineProcess]:
    process = EngineProcess(f"sqlite:///{tmp_path_factory.mktemp('engine') / 'engine.db'}").start()
    yield process
    process.close()


@pytest.fixture(scope="module")
def postgres_engine(postgres_url: str) -> Iterator[EngineProcess]:
    process = EngineProcess(postgres_url).start()
    yield process
    process.close()


@pytest.fixture(scope="module", params=BOTH_DATABASES)
def engine(request: pytest.FixtureRequest) -> EngineProcess:
    """A running engine that tests share; each test uses an app of its own."""
    process: EngineProcess = request.getfixturevalue(f"{request.param}_engine")
    return process


@pytest.fixture
def unshared_engine(tmp_path: Path) -> Iterator[EngineProcess]:
    """A fresh engine on SQLite that this test may kill and start again."""
    process = EngineProcess(f"sqlite:///{tmp_path / 'engine.db'}").start()
    yield process
    process.close()


@pytest.fixture
def serve() -> Iterator[ServeApp]:
    """Start an app and register it; stopped at the end of the test."""
    started: list[AppServer] = []

    def begin(engine: EngineProcess, client: inngest.Inngest, functions: list[inngest.Function[Any]]) -> AppServer:
        app = AppServer(client, functions).start()
        started.append(app)
        answer = app.sync()
        assert answer["ok"] is True, answer
        return app

    yield begin
    for app in started:
        app.stop()
        close_client(app.client)
