"""The supervisor with real processes, really killed. Its children are tiny HTTP servers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.supervision.home_state import ProcessRow, ProcessState, is_home_in_use, read_rows
from app.supervision.ports import free_ports, is_free
from tests.support import supervisor_process
from tests.support.template import template_of
from tests.support.waiting import until

ROOT = Path(__file__).parents[3]


class Running:
    """A supervisor of tickers; its output is in a file."""

    def __init__(self, kind: str, home: Path, *specs: str) -> None:
        self.home = home
        self.output = home / "output"
        with self.output.open("wb") as output:
            template = template_of(supervisor_process.__name__)
            self.process = template.start([kind, str(home), *specs], os.environ, output.fileno())

    @property
    def said(self) -> str:
        return self.output.read_text()

    def ready(self) -> None:
        until("READY", lambda: "READY" in self.said or self.process.poll() is not None)
        assert self.process.poll() is None, self.said

    def row(self, name: str) -> ProcessRow:
        return next(row for row in read_rows(self.home) or [] if row.name == name)

    def pid(self, name: str) -> int:
        pid = self.row(name).pid
        assert pid is not None
        return pid

    def kill(self, name: str) -> None:
        """SIGKILL, and wait for the successor to be ready."""
        old = self.pid(name)
        os.kill(old, signal.SIGKILL)
        until(
            f"a new {name}",
            lambda: self.row(name).state is ProcessState.RUNNING and self.row(name).pid != old,
        )


@pytest.fixture
def started(tmp_path: Path) -> Iterator[list[Running]]:
    """Supervisors put in here are gone at the end, with all their children."""
    running: list[Running] = []
    yield running
    for one in running:
        if one.process.poll() is None:
            os.killpg(one.process.pid, signal.SIGKILL)
        one.process.wait(10)


@pytest.fixture
def ports() -> list[int]:
    return free_ports(3)


@pytest.fixture(params=["program", "fork"])
def kind(request: pytest.FixtureRequest) -> str:
    """Whether children are programs of their own or forks of the supervisor: they behave alike."""
    return str(request.param)


@pytest.fixture
def pair(kind: str, tmp_path: Path, ports: list[int], started: list[Running]) -> Running:
    """A supervisor of `first` and `second`, both ready."""
    running = Running(kind, tmp_path, f"first:{ports[0]}", f"second:{ports[1]}")
    started.append(running)
    running.ready()
    return running


def answer(port: int, path: str = "") -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/{path}", timeout=5) as response:
        return str(response.read().decode())


def gone(pid: int) -> bool:
    """Has it ended? A zombie has, even when nobody has asked for its status yet."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def test_it_says_one_line_for_each_process_and_lists_them(pair: Running, ports: list[int]) -> None:
    lines = pair.said.splitlines()

    assert [line.split()[0] for line in lines] == ["first", "second", "READY"]
    assert [(row.name, row.port, row.state) for row in read_rows(pair.home) or []] == [
        ("first", ports[0], ProcessState.RUNNING),
        ("second", ports[1], ProcessState.RUNNING),
    ]
    assert answer(ports[0]) == str(pair.pid("first"))


def test_children_have_their_own_environment_and_hold_nothing_of_the_supervisor(
    pair: Running, ports: list[int]
) -> None:
    assert answer(ports[1], "env/TICKER") == "second"

    held = answer(ports[1], "handles").splitlines()
    assert [name for name in held if "up.lock" in name] == []
    assert len([name for name in held if "pipe:" in name]) == 1


def test_children_stay_in_its_process_group(pair: Running) -> None:
    assert {os.getpgid(pair.pid(name)) for name in ("first", "second")} == {pair.process.pid}


def test_a_child_that_is_killed_comes_back_on_its_port_and_the_others_stay(pair: Running, ports: list[int]) -> None:
    second = pair.pid("second")

    pair.kill("first")

    assert answer(ports[0]) == str(pair.pid("first"))
    assert pair.pid("second") == second
    assert "ended with signal 9" in pair.said


def test_a_child_that_dies_again_and_again_waits_longer_each_time(pair: Running) -> None:
    for _ in range(3):
        pair.kill("first")

    pauses = [line.rsplit(" ", 2)[1] for line in pair.said.splitlines() if "ended" in line]
    assert pauses == ["0.1", "0.2", "0.4"]


def test_children_die_with_a_supervisor_that_is_killed(pair: Running, ports: list[int]) -> None:
    pids = [pair.pid("first"), pair.pid("second")]

    os.kill(pair.process.pid, signal.SIGKILL)

    until("the end of all children", lambda: all(gone(pid) for pid in pids))
    assert all(is_free(port) for port in ports)
    assert not is_home_in_use(pair.home)
    assert read_rows(pair.home) is None


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_it_stops_everything_when_asked(pair: Running, number: signal.Signals) -> None:
    pids = [pair.pid("first"), pair.pid("second")]

    os.kill(pair.process.pid, number)

    assert pair.process.wait(15) == 0
    assert all(gone(pid) for pid in pids)
    assert not (pair.home / "processes.json").exists()


def test_ctrl_c_reaches_the_group_and_only_the_supervisor_acts_on_it(pair: Running) -> None:
    os.killpg(pair.process.pid, signal.SIGINT)

    assert pair.process.wait(15) == 0
    assert "ended with" not in pair.said


def test_a_child_that_ignores_the_request_to_stop_is_killed(
    kind: str, tmp_path: Path, ports: list[int], started: list[Running]
) -> None:
    running = Running(kind, tmp_path, f"deaf:{ports[0]}:deaf", f"second:{ports[1]}")
    started.append(running)
    running.ready()
    pid = running.pid("deaf")

    os.kill(running.process.pid, signal.SIGTERM)

    assert running.process.wait(15) == 0
    assert gone(pid)


def test_what_does_not_start_ends_it_and_the_reason_is_shown(
    kind: str, tmp_path: Path, ports: list[int], started: list[Running]
) -> None:
    running = Running(kind, tmp_path, f"good:{ports[0]}", f"bad:{ports[1]}:die")
    started.append(running)

    assert running.process.wait(30) == 1
    assert "bad does not start" in running.said
    assert "no such table: turnips" in running.said
    assert "READY" not in running.said
    assert is_free(ports[0])


def test_a_late_child_is_started_when_all_others_are_ready_and_lives_as_they_do(
    kind: str, tmp_path: Path, ports: list[int], started: list[Running]
) -> None:
    running = Running(kind, tmp_path, f"late:{ports[0]}:late", f"first:{ports[1]}")
    started.append(running)
    running.ready()
    assert running.row("late").pid is None

    until("the late one", lambda: running.row("late").state is ProcessState.RUNNING)

    running.kill("late")
    assert answer(ports[0]) == str(running.pid("late"))
    os.kill(running.process.pid, signal.SIGTERM)
    assert running.process.wait(15) == 0
    assert is_free(ports[0])


def test_a_late_child_that_does_not_start_ends_nothing(
    kind: str, tmp_path: Path, ports: list[int], started: list[Running]
) -> None:
    running = Running(kind, tmp_path, f"late:{ports[0]}:die:late", f"first:{ports[1]}")
    started.append(running)
    running.ready()

    until("several tries", lambda: running.said.count("late     ended with") >= 4)

    assert running.process.poll() is None
    assert answer(ports[1]) == str(running.pid("first"))


def test_a_second_supervisor_of_the_home_is_refused(pair: Running, ports: list[int], started: list[Running]) -> None:
    process = subprocess.run(
        [sys.executable, supervisor_process.__file__, "program", str(pair.home), f"third:{ports[2]}"],
        capture_output=True,
        text=True,
        timeout=30,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
    )

    assert process.returncode != 0
    assert "is in use by another `loopwright up`" in process.stderr
    assert is_free(ports[2])


def test_logs_go_to_files_and_the_start_before_is_kept(
    kind: str, tmp_path: Path, ports: list[int], started: list[Running]
) -> None:
    for _ in range(2):
        running = Running(kind, tmp_path, f"first:{ports[0]}")
        started.append(running)
        running.ready()
        os.kill(running.process.pid, signal.SIGTERM)
        running.process.wait(15)

    assert "GET / HTTP" in (tmp_path / "logs" / "first.log").read_text()
    assert "GET / HTTP" in (tmp_path / "logs" / "first.log.1").read_text()
