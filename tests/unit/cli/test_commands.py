"""Client commands without a product: what they say, and their exit status."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from app.cli import main
from app.cli.output import local_time, plain_line, plain_paragraphs, print_table
from app.supervision.home_state import HomeLock, ProcessRow, ProcessState, write_rows
from app.supervision.ports import free_ports

CLIENTS = [
    ("say", "hello"),
    ("messages",),
    ("tasks",),
    ("task", "t_1"),
    ("stop", "t_1"),
    ("pause", "t_1"),
    ("resume", "t_1"),
    ("cards",),
    ("answer", "c_1", "approve"),
    ("objects",),
    ("object", "o_1"),
    ("runs",),
    ("run", "r_1"),
    ("budget",),
    ("keys",),
    ("ps",),
]


def run(*words: str) -> Result:
    return CliRunner().invoke(main, list(words))


@pytest.mark.parametrize("words", CLIENTS, ids=lambda words: words[0])
def test_a_product_that_does_not_run_is_named(tmp_path: Path, words: tuple[str, ...]) -> None:
    done = run(words[0], "--home", str(tmp_path), *words[1:])

    assert done.exit_code == 1
    assert done.output == f"Error: Loopwright is not running in {tmp_path}: start it with `loopwright up`\n"


@pytest.mark.parametrize("words", [("tasks",), ("ps",), ("doctor",), ("skills", "new", "watch_prices")])
def test_a_home_that_is_a_file_is_said_in_a_line(tmp_path: Path, words: tuple[str, ...]) -> None:
    (tmp_path / "file").write_text("no folder")

    done = run(*words, "--home", str(tmp_path / "file"))

    assert done.exit_code == 1
    assert isinstance(done.exception, SystemExit)
    assert str(tmp_path / "file") in done.output


def test_a_relative_home_is_shown_as_such(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    assert "not running in ./var:" in run("ps", "--home", "var").output


def test_a_product_that_does_not_answer_is_named(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys" / "token").write_text("token")
    with HomeLock(tmp_path):
        write_rows(tmp_path, [ProcessRow("web", 1, port, ProcessState.RESTARTING)])
        done = run("tasks", "--home", str(tmp_path))

    assert done.exit_code == 1
    assert f"Loopwright does not answer at http://127.0.0.1:{port}" in done.output


def test_ps_lists_processes_as_a_table_and_as_json(tmp_path: Path) -> None:
    with HomeLock(tmp_path):
        write_rows(
            tmp_path,
            [
                ProcessRow("web", 4711, 8000, ProcessState.RUNNING),
                ProcessRow("worker", None, 8002, ProcessState.RESTARTING),
            ],
        )
        table = run("ps", "--home", str(tmp_path))
        listed = run("ps", "--home", str(tmp_path), "--json")

    assert [line.split() for line in table.output.splitlines()] == [
        ["NAME", "PID", "PORT", "STATE"],
        ["web", "4711", "8000", "running"],
        ["worker", "-", "8002", "restarting"],
    ]
    assert '"pid": 4711' in listed.output


def test_rows_that_a_killed_supervisor_left_behind_are_not_believed(tmp_path: Path) -> None:
    write_rows(tmp_path, [ProcessRow("web", 4711, 8000, ProcessState.RUNNING)])

    assert run("ps", "--home", str(tmp_path)).exit_code == 1


@pytest.mark.parametrize(
    "words",
    [
        ("answer", "c_1"),
        ("budget", "turnips=3"),
        ("budget", "balance=many"),
        ("budget", "balance=NaN"),
        ("keys", "create", "x", "--scopes", "read,everything"),
        ("say",),
        ("say", "look", "--attach", "/nowhere/at/all"),
        ("serve", "turnips"),
        ("serve", "web", "--test-clock"),
    ],
)
def test_wrong_use_is_status_2(words: tuple[str, ...]) -> None:
    assert run(*words).exit_code == 2


def test_the_help_of_memory_shows_how_it_is_asked() -> None:
    told = run("memory", "--help").output

    assert all(words in told for words in ("[QUERY]", "--at", "--json", "forget", "--home"))
    assert told.count("--home") == 1


def test_times_are_those_of_the_clock_on_the_wall(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TZ", "Europe/Paris")
    time.tzset()
    try:
        print_table([{"id": "r1", "started_at": "2026-07-01T22:30:05.123456Z"}], ("id", "started_at"))
        assert local_time("2026-01-01T00:00:00Z") == "2026-01-01 01:00:00"
    finally:
        monkeypatch.undo()
        time.tzset()

    assert capsys.readouterr().out.splitlines()[1] == "r1  2026-07-02 00:30:05"
    assert local_time("at 2026-01-01T00:00:00Z") == "at 2026-01-01T00:00:00Z"


def test_stop_says_what_it_does_not_stop() -> None:
    told = " ".join(run("stop", "--help").output.split())

    assert "What a provider is making already goes on, is charged" in told


def test_what_strangers_wrote_does_not_steer_the_terminal() -> None:
    assert plain_line("a\x1b[2Jb\nc\t d") == "a\ufffd[2Jb c d"
    assert plain_paragraphs("one\x07\ntwo") == "one\ufffd\ntwo"
    assert plain_line(None) == ""
