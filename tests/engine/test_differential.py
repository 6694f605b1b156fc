"""The cases of `differential` on our engine, or with `--engine URL` on another server, against the stored outcome."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engine.differential.__main__ import EXPECTED
from tests.engine.differential.record import record
from tests.engine.engine_process import EngineProcess


@pytest.fixture
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The address of the server that is tested."""
    asked = str(request.config.getoption("--engine"))
    if asked != "embedded":
        yield asked
        return
    engine = EngineProcess(f"sqlite:///{tmp_path / 'engine.db'}", retry_interval=1).start()
    yield engine.url
    engine.close()


@pytest.mark.load
def test_every_case_comes_out_as_on_the_real_server(server: str) -> None:
    assert record(server) == json.loads(EXPECTED.read_text(encoding="utf-8"))
