"""The shelf begins when it can: what is away at its start is waited for, and what is saved meanwhile is not lost."""

from __future__ import annotations

import io
import logging
import threading
import time
from pathlib import Path, PosixPath
from typing import Any

import pytest

from sidecar.watch.folders import SkillFolder
from skills.book import skill, versions
from tests.sidecar.local_registry import local_registry
from tests.support.engines import RunningEngine
from tests.support.sidecar import RunningSidecar, hello
from tests.support.waiting import until

pytestmark = [pytest.mark.long, pytest.mark.engines("embedded")]


def test_a_database_that_comes_later_is_waited_for(
    any_engine: RunningEngine, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR)
    with local_registry(any_engine, tmp_path / "home", prepared=False) as skills:
        until("it has asked in vain", lambda: "no such table" in caplog.text, 60)
        skills.prepare()
        skills.save("late", hello(1, "late/asked"))
        skills.live("late", 1)


class SlowToSay(PosixPath):
    """A folder whose first reader has what it read, and is kept from going on with it for a while."""

    reading = threading.Event()
    read_again = threading.Event()

    def open(self, *told: Any, **more: Any) -> Any:
        found = io.BytesIO(Path(self).read_bytes())
        if self.reading.is_set():
            self.read_again.set()
        else:
            self.reading.set()
            self.read_again.wait(3)
            time.sleep(1)
        return found


def served(skills: RunningSidecar) -> str:
    """The source of what serves."""
    with skills.reading() as scope:
        row = skill.find_skill(scope, "twice")
        return (
            versions.get_version(scope, row.version_id).source if row is not None and row.version_id is not None else ""
        )


def test_of_two_readings_the_newer_one_counts(any_engine: RunningEngine, tmp_path: Path) -> None:
    file = tmp_path / "own" / "twice.py"
    file.parent.mkdir()
    file.write_text(hello(1, "twice/asked"))
    with local_registry(
        any_engine, tmp_path / "home", folders=[SkillFolder(SlowToSay(file.parent), "person")]
    ) as skills:
        assert SlowToSay.reading.wait(60)
        file.write_text(hello(2, "twice/asked"))
        until("the newer one serves", lambda: "VALUE = 2" in served(skills), 60)
        time.sleep(2)
        assert "VALUE = 2" in served(skills)
