"""The shelf begins when it can: what is away at its start is waited for."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from tests.sidecar.beside import shelf_beside
from tests.support.engines import RunningEngine
from tests.support.sidecar import hello
from tests.support.waiting import until

pytestmark = [pytest.mark.long, pytest.mark.parametrize("any_engine", ["embedded"], indirect=True)]


def test_a_database_that_comes_later_is_waited_for(
    any_engine: RunningEngine, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR)
    with shelf_beside(any_engine, tmp_path / "home", prepared=False) as skills:
        until("it has asked in vain", lambda: "no such table" in caplog.text, 60)
        skills.prepare()
        skills.save("late", hello(1, "late/asked"))
        skills.live("late", 1)
