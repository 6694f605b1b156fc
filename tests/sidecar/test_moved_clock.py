"""With a test clock, which only the embedded engine has, signatures are judged by the time the engine signs with."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import httpx
import pytest

from core.orchestrator.engine import bearer_of_key
from tests.support.engines import moved_by_tests, running
from tests.support.sidecar import hello, sidecar


@pytest.mark.load
def test_a_run_after_forty_days(tmp_path: Path) -> None:
    folder = tmp_path / "engine"
    folder.mkdir()
    with running(moved_by_tests(folder)) as engine:
        clock, shown = f"{engine.url}/test/clock", {"authorization": bearer_of_key(str(engine.signing_key))}
        with sidecar(engine, tmp_path / "home", {"LOOPWRIGHT_CLOCK_URL": clock}) as skills:
            skills.save("late", hello(1, "late/asked"))
            skills.live("late", 1)
            before = datetime.fromisoformat(httpx.get(clock, headers=shown).json()["now"])
            httpx.post(clock, json={"advance": "40d"}, headers=shown, timeout=60).raise_for_status()
            assert (datetime.fromisoformat(httpx.get(clock, headers=shown).json()["now"]) - before).days == 40
            skills.ask("late/asked")
            assert skills.outputs("skill-late/hello", 1) == [1]
