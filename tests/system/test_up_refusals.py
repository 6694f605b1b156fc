"""What `loopwright up` refuses, in one clear line each, before anything is started."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from app.supervision.home_state import HomeLock
from app.supervision.ports import free_ports
from tests.support.environment import without_settings
from tests.support.template import loaded_product


@dataclass(frozen=True)
class Ended:
    status: int
    out: str
    err: list[str]


def up(home: Path, *words: str, **env: str) -> Ended:
    """Run `loopwright up`, which is expected to end by itself."""
    done = loaded_product().run(["up", "--home", str(home), *words], {**without_settings(), **env}, 60)
    return Ended(done.status, done.out, done.err.splitlines())


def assert_nothing_started(ended: Ended, home: Path) -> None:
    assert ended.status == 1
    assert ended.out == ""
    assert not (home / "logs").exists()
    assert not (home / "processes.json").exists()


@pytest.fixture
def taken() -> Iterator[int]:
    """A port that somebody listens on."""
    (port,) = free_ports(1)
    with socket.create_server(("127.0.0.1", port)):
        yield port


def test_every_wrong_setting_is_named_at_once(tmp_path: Path) -> None:
    wrong = {
        "LOOPWRIGHT_HOEM": "x",
        "LOOPWRIGHT_TURNIPS": "1",
        "OPENAI_BASE_URL": "api.example.org",
        "LOOPWRIGHT_DATABASE_URL": "bogus://me:hush@db/x",
        "LOOPWRIGHT_TIMEZONE": "Mars",
        "LOOPWRIGHT_RETENTION_DAYS": "inf",
        "LOOPWRIGHT_LEASE_SECONDS": "1e99",
        "LOOPWRIGHT_FREE_PER_OPERATION": "abc",
        "LOOPWRIGHT_FREE_PER_DAY": "1e99",
        "LOOPWRIGHT_OPENING_BALANCE": "-5",
        "LOOPWRIGHT_GENERATORS": "turnips",
        "LOOPWRIGHT_ASSETS_URL": "bogus://x",
    }

    ended = up(tmp_path / "home", "--port", "0", **wrong)

    assert sorted(line.split(" ")[0].rstrip(":") for line in ended.err) == sorted(wrong)
    assert "hush" not in "".join(ended.err)
    assert not (tmp_path / "home").exists()
    assert_nothing_started(ended, tmp_path / "home")


def test_nothing_is_made_where_a_setting_is_wrong(tmp_path: Path) -> None:
    ended = up(tmp_path / "home", "--port", "0", LOOPWRIGHT_ASSETS_URL="bogus://x")

    assert len(ended.err) == 1
    assert "LOOPWRIGHT_ASSETS_URL: bogus:// cannot be used" in ended.err[0]
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize(
    ("generators", "words"),
    [("turnips", "'turnips' is none of"), ("jobs", "LOOPWRIGHT_JOBS_URL"), ("jobs,studio", "choose one of them")],
)
def test_a_generator_that_cannot_be_used(tmp_path: Path, generators: str, words: str) -> None:
    ended = up(tmp_path, "--port", "0", LOOPWRIGHT_GENERATORS=generators)

    assert len(ended.err) == 1
    assert words in ended.err[0]
    assert_nothing_started(ended, tmp_path)


def test_a_key_without_the_name_of_a_model_asks_nobody(tmp_path: Path) -> None:
    ended = up(tmp_path, "--port", "0", OPENAI_API_KEY="sk-of-another-program")

    assert len(ended.err) == 1
    assert ended.err[0].startswith("LOOPWRIGHT_MODEL: ")
    assert "sk-of" not in ended.err[0]
    assert_nothing_started(ended, tmp_path)


def test_a_home_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")

    ended = up(tmp_path / "file" / "home", "--port", "0")

    assert len(ended.err) == 1
    assert "cannot be written" in ended.err[0]
    assert_nothing_started(ended, tmp_path / "file" / "home")


def test_a_port_in_use(tmp_path: Path, taken: int) -> None:
    ended = up(tmp_path, "--port", str(taken))

    assert ended.err == [f"port {taken} for web is in use: stop what listens there, or choose another with --port"]
    assert_nothing_started(ended, tmp_path)


def test_a_port_in_use_by_another_of_its_processes(tmp_path: Path, taken: int) -> None:
    ended = up(tmp_path, "--port", str(taken - 1))

    assert [line for line in ended.err if f"port {taken} for engine is in use" in line]
    assert_nothing_started(ended, tmp_path)


def test_a_home_in_use(tmp_path: Path) -> None:
    with HomeLock(tmp_path):
        ended = up(tmp_path, "--port", "0")

    assert ended.err == [f"{tmp_path} is in use by another `loopwright up`; stop that one, or choose another --home"]
    assert_nothing_started(ended, tmp_path)


def test_an_engine_that_does_not_answer(tmp_path: Path) -> None:
    (port,) = free_ports(1)

    ended = up(tmp_path, "--port", "0", "--engine", f"http://127.0.0.1:{port}")

    assert len(ended.err) == 1
    assert ended.err[0].startswith(f"engine http://127.0.0.1:{port} does not answer")
    assert_nothing_started(ended, tmp_path)


def test_a_database_that_does_not_answer(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    address = f"postgresql://someone:hush@127.0.0.1:{port}/loopwright"

    ended = up(tmp_path, "--port", "0", LOOPWRIGHT_DATABASE_URL=address)

    assert len(ended.err) == 1
    assert "cannot be used" in ended.err[0]
    assert "hush" not in ended.err[0]
    assert_nothing_started(ended, tmp_path)


@pytest.mark.parametrize(
    "words",
    [
        ("--port", "70000"),
        ("--engine", "nonsense"),
        ("--engine", "ftp://x"),
        ("--engine", "http://x:99999"),
        ("--engine", "http://[::1"),
        ("--what",),
    ],
)
def test_wrong_use_is_status_2(tmp_path: Path, words: tuple[str, ...]) -> None:
    assert up(tmp_path, *words).status == 2


def test_ctrl_c_before_anything_is_started_ends_it(tmp_path: Path, taken: int) -> None:
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "app.cli", "up", "--home", str(tmp_path), "--port", str(taken)],
        env=without_settings(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    os.killpg(process.pid, signal.SIGINT)

    assert process.wait(30) != 0
