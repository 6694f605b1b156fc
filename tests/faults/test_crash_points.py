"""A crash point strikes the process it is armed in, at the named pass, once a home."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from core.settings import SettingsError, load_settings
from tests.support.waiting import until

PROGRAM = """
import sys
from pathlib import Path
from core.process import crash
crash.arm(sys.argv[1], Path(sys.argv[2]))
for n in range(3):
    crash.point("order", "accepted", "before_commit")
    print("passed", n, flush=True)
"""


def _run(plan: str, home: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", PROGRAM, plan, str(home)], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("plan", "passed"), [("order.accepted.before_commit", 0), ("order.accepted.before_commit#3", 2)]
)
def test_process_is_killed_at_the_named_pass_and_its_successor_lives(tmp_path: Path, plan: str, passed: int) -> None:
    first, second = _run(plan, tmp_path), _run(plan, tmp_path)

    assert (first.returncode, first.stdout.count("passed")) == (-signal.SIGKILL, passed)
    assert (second.returncode, second.stdout.count("passed")) == (0, 3)


def test_plan_in_the_home_is_read_anew_at_every_point(tmp_path: Path) -> None:
    assert _run("@", tmp_path).returncode == 0

    (tmp_path / "crash" / "plan").write_text("elsewhere, order.accepted.before_commit#2")

    assert _run("@", tmp_path).returncode == -signal.SIGKILL


def test_process_is_frozen_until_it_is_told_to_go_on(tmp_path: Path) -> None:
    argv = [sys.executable, "-c", PROGRAM, "freeze:order.accepted.before_commit", str(tmp_path)]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
    marker = tmp_path / "crash" / "freeze:order.accepted.before_commit"
    assert until("the marker", lambda: marker.exists() and marker.read_text(), 30) == str(process.pid)
    until("it stands still", lambda: Path(f"/proc/{process.pid}/stat").read_text().split()[2] == "T", 30)

    os.kill(process.pid, signal.SIGCONT)

    assert process.communicate(timeout=30)[0].count("passed") == 3


WRITING = """
import sys, threading, time
from pathlib import Path
from core.process import crash
from core.database import Database
crash.arm("freeze:elsewhere", Path(sys.argv[1]))
database = Database(f"sqlite:///{sys.argv[1]}/a.sqlite")
writes = threading.Event()
def write():
    with database.transaction("ws"):
        writes.set()
        time.sleep(0.5)
threading.Thread(target=write).start()
writes.wait()
crash.point("elsewhere")
"""


def test_process_is_frozen_between_two_writes_so_that_it_holds_no_lock(tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", WRITING, str(tmp_path)])
    try:
        until("it stands still", lambda: Path(f"/proc/{process.pid}/stat").read_text().split()[2] == "T", 30)
        with closing(sqlite3.connect(tmp_path / "a.sqlite", timeout=2)) as other:
            other.execute("BEGIN IMMEDIATE")
    finally:
        os.kill(process.pid, signal.SIGCONT)
        assert process.wait(30) == 0


@pytest.mark.parametrize("plan", ["", "somewhere.else"])
def test_without_a_plan_for_it_a_point_is_nothing(tmp_path: Path, plan: str) -> None:
    assert _run(plan, tmp_path).stdout.count("passed") == 3


def test_what_is_no_plan_is_refused_at_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOOPWRIGHT_CRASH_AT", "decide.recorded#0")

    with pytest.raises(SettingsError, match="LOOPWRIGHT_CRASH_AT"):
        load_settings()
