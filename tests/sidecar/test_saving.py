"""Every way an editor saves a file is noticed once; what is no skill, and what only reads, is not."""

from __future__ import annotations

import compileall
import hashlib
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from skills.book import skill
from tests.support.sidecar import RunningSidecar, hello
from tests.support.waiting import until


def in_place(folder: Path, stem: str, text: str) -> None:
    (folder / f"{stem}.py").write_text(text)


def renamed_over(folder: Path, stem: str, text: str) -> None:
    (folder / f"{stem}.py.tmp").write_text(text)
    os.replace(folder / f"{stem}.py.tmp", folder / f"{stem}.py")


def like_vim(folder: Path, stem: str, text: str) -> None:
    file = folder / f"{stem}.py"
    (folder / "4913").touch()
    (folder / "4913").unlink()
    file.rename(folder / f"{stem}.py~")
    time.sleep(0.1)
    file.write_text(text)
    (folder / f"{stem}.py~").unlink()


def with_a_swap_file(folder: Path, stem: str, text: str) -> None:
    swap = folder / f".{stem}.py.swp"
    swap.write_bytes(b"b0VIM 9.0")
    (folder / f"{stem}.py").write_text(text)
    swap.unlink()


def folder_away_and_back(folder: Path, stem: str, text: str) -> None:
    away = folder.with_name("elsewhere")
    folder.rename(away)
    (away / f"{stem}.py").write_text(text)
    away.rename(folder)


# What is noticed does not depend on the engine.
pytestmark = [pytest.mark.long, pytest.mark.engines("embedded")]

WAYS: tuple[Callable[[Path, str, str], None], ...] = (
    in_place,
    renamed_over,
    like_vim,
    with_a_swap_file,
    folder_away_and_back,
)


@pytest.mark.case("B19")
def test_each_of_five_ways_to_save_is_noticed(skills: RunningSidecar) -> None:
    skills.save("five", hello(0, "five/asked"))
    skills.live("five", 1)
    for turn, save in enumerate((*WAYS, *reversed(WAYS)), start=1):
        save(skills.folder, "five", hello(turn, "five/asked"))
        live = skills.live("five", turn + 1)
        assert live["problems"] == [], save.__name__
        skills.ask("five/asked")
        assert skills.outputs("skill-five/hello", turn)[-1] == turn, save.__name__
    time.sleep(1)
    assert skills.skill("five")["version"] == 1 + 2 * len(WAYS)
    assert skills.log.count(" live, sha256") == 1 + 2 * len(WAYS)


def test_the_newest_of_many_quick_saves_is_live(skills: RunningSidecar) -> None:
    for value in range(30):
        in_place(skills.folder, "quick", hello(value, "quick/asked"))
        time.sleep(0.01)
    last = hello(77, "quick/asked")
    in_place(skills.folder, "quick", last)
    sha = hashlib.sha256(last.encode()).hexdigest()
    until("the last save", lambda: skills.skill("quick").get("hash") == sha)
    assert skills.skill("quick")["version"] < 10


@pytest.mark.case("B18")
def test_a_save_of_the_same_size_in_the_same_second_is_new_code(skills: RunningSidecar) -> None:
    file = skills.folder / "stale.py"
    file.write_text(hello(1, "stale/asked"))
    skills.live("stale", 1)
    stat = file.stat()
    compileall.compile_dir(skills.folder, quiet=2)
    file.write_text(hello(2, "stale/asked"))
    os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    skills.live("stale", 2)
    assert skills.skill("stale")["hash"] == hashlib.sha256(file.read_bytes()).hexdigest()
    skills.ask("stale/asked")
    assert skills.outputs("skill-stale/hello", 1) == [2]


@pytest.mark.case("B18")
@pytest.mark.long
def test_a_new_process_runs_the_newest_save(skills: RunningSidecar) -> None:
    skills.save("fresh", hello(1, "fresh/asked"))
    skills.live("fresh", 1)
    skills.save("fresh", hello(2, "fresh/asked"))
    skills.live("fresh", 2)
    skills.stop()
    skills.start()
    skills.ask("fresh/asked")
    assert skills.outputs("skill-fresh/hello", 1) == [2]


def mark(skills: RunningSidecar) -> int:
    with skills.reading() as scope:
        return skill.sum_epochs(scope)


@pytest.mark.case("B20")
def test_reading_and_compiling_reload_nothing(skills: RunningSidecar) -> None:
    for number in range(5):
        skills.save(f"skill_{number}", hello(number, f"asked/{number}"))
    for number in range(5):
        skills.live(f"skill_{number}", 1)
    time.sleep(1)
    before, state = skills.log, mark(skills)
    shutil.copytree(skills.folder, skills.home / "copy")
    for _ in range(3):
        for file in skills.folder.iterdir():
            if file.is_file():
                file.read_bytes()
        compileall.compile_dir(skills.folder, force=True, quiet=2)
        for name in ("#noise.py#", "noise.py~", ".noise.py.swp", "noise.pyc", "notes.txt", "4913", "a b.py"):
            (skills.folder / name).write_text(hello(9))
        time.sleep(0.3)
    time.sleep(1)
    assert skills.log == before
    assert mark(skills) == state
    assert not skills.skill("noise")
