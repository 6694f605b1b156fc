"""A short chaos run with a fixed seed; `make chaos` runs longer ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chaos import report
from tests.chaos.run import run_chaos

pytestmark = pytest.mark.load


def test_a_minute_of_chaos_loses_and_doubles_nothing(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    found = run_chaos(tmp_path, seed=4, seconds=60, say=print, engine=request.config.getoption("--engine"))

    assert found.kills.total() > 5
    assert found.audit.tasks >= 30
    assert found.audit.good, report.table(found)
