"""When the watch of the folders speaks up: nobody waits for another's file, and the system may tell it nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Set
from contextlib import contextmanager
from pathlib import Path

import pytest
from watchdog.events import FileSystemEvent, FileSystemEventHandler

from sidecar.watch.folder_events import FolderEvents
from sidecar.watch.folder_watch import FolderWatch
from tests.support.waiting import until


class Looks:
    """What was held back at each look, and when that was."""

    def __init__(self) -> None:
        self.seen: list[tuple[float, Set[str]]] = []
        self.fail = 0

    def __call__(self, unsettled: Set[str]) -> None:
        self.seen.append((time.monotonic(), {Path(path).stem for path in unsettled}))
        if self.fail:
            self.fail -= 1
            raise OSError("the disk is away")


@contextmanager
def watching(folder: Path, *, idle: float = 60.0, longest: float = 60.0, poll: float = 60.0) -> Iterator[Looks]:
    folder.mkdir()
    looks = Looks()
    watch = FolderWatch([folder], looks, idle=idle, longest=longest, poll=poll)
    watch.start()
    try:
        yield looks
    finally:
        watch.stop()


@contextmanager
def written_all_the_time(file: Path) -> Iterator[None]:
    """Appended to every few milliseconds."""
    stop = threading.Event()

    def write() -> None:
        with file.open("a") as open_file:
            while not stop.wait(0.01):
                open_file.write("x\n")
                open_file.flush()

    thread = threading.Thread(target=write)
    thread.start()
    try:
        until("it is written", file.exists)
        yield
    finally:
        stop.set()
        thread.join()


def test_a_file_that_is_written_all_the_time_holds_up_no_other(tmp_path: Path) -> None:
    folder = tmp_path / "skills"
    with watching(folder) as looks, written_all_the_time(folder / "busy.py"):
        (folder / "other.py").write_text("x = 1\n")
        until("the other one looked at", lambda: looks.seen, 20)
        assert [held for _, held in looks.seen] == [{"busy"}]


def test_a_file_that_is_written_all_the_time_is_looked_at_in_the_end(tmp_path: Path) -> None:
    folder = tmp_path / "skills"
    with watching(folder, longest=0.5) as looks, written_all_the_time(folder / "busy.py"):
        until("it is looked at", lambda: any("busy" not in held for _, held in looks.seen), 20)


def test_a_file_that_is_open_yet_is_not_whole(tmp_path: Path) -> None:
    folder = tmp_path / "skills"
    with watching(folder) as looks:
        with (folder / "slow.py").open("w") as slow:
            slow.write("x = 1\n")
            slow.flush()
            (folder / "other.py").write_text("x = 1\n")
            until("the other one looked at", lambda: looks.seen, 20)
            assert [held for _, held in looks.seen] == [{"slow"}]
            slow.write("y = 2\n")
            looks.seen.clear()
        until("it is looked at", lambda: looks.seen, 20)
        assert looks.seen[0][1] == set()


@pytest.mark.parametrize("link", [os.link, os.symlink])
def test_a_file_whose_times_are_set_and_a_link_are_whole(tmp_path: Path, link: Callable[[Path, Path], None]) -> None:
    folder, written = tmp_path / "skills", tmp_path / "written.py"
    written.write_text("x = 1\n")
    with watching(folder) as looks:
        shutil.copy2(written, folder / "copied.py")
        link(written, folder / "linked.py")
        until("they are looked at", lambda: looks.seen and not looks.seen[-1][1], 20)


def test_a_file_that_stays_open_is_looked_at_in_the_end(tmp_path: Path) -> None:
    folder = tmp_path / "skills"
    with watching(folder, idle=0.1) as looks, (folder / "open.py").open("w"):
        until("it is looked at", lambda: looks.seen and not looks.seen[-1][1], 20)


def away_and_back(folder: Path) -> None:
    folder.parent.rename(folder.parent.with_name("away"))
    folder.parent.with_name("away").rename(folder.parent)


def made_anew(folder: Path) -> None:
    shutil.rmtree(folder.parent)
    folder.mkdir(parents=True)


def replaced(folder: Path) -> None:
    copy = folder.parent.with_name("copy")
    shutil.copytree(folder.parent, copy)
    shutil.rmtree(folder.parent)
    copy.rename(folder.parent)


def became_a_link(folder: Path) -> None:
    folder.rename(folder.with_name("real"))
    folder.symlink_to(folder.with_name("real"))


def leads_elsewhere(folder: Path) -> None:
    became_a_link(folder)
    folder.with_name("other").mkdir()
    folder.with_name("link").symlink_to(folder.with_name("other"))
    os.replace(folder.with_name("link"), folder)


@pytest.mark.parametrize("change", [away_and_back, made_anew, replaced, became_a_link, leads_elsewhere])
def test_a_folder_is_watched_whatever_became_of_the_one_before(tmp_path: Path, change: Callable[[Path], None]) -> None:
    folder = tmp_path / "home" / "skills"
    folder.parent.mkdir()
    with watching(folder) as looks:
        change(folder)
        time.sleep(0.5)
        for number in range(2):
            looks.seen.clear()
            (folder / f"saved_{number}.py").write_text("x = 1\n")
            until("the save is looked at", lambda: looks.seen, 8)


def test_a_folder_whose_parent_went_elsewhere_is_watched_in_its_place(tmp_path: Path) -> None:
    folder = tmp_path / "home" / "skills"
    folder.mkdir(parents=True)
    told = threading.Event()

    class Telling(FileSystemEventHandler):
        def on_created(self, event: FileSystemEvent) -> None:
            told.set()

    observing = FolderEvents([folder], Telling())
    observing.renew()
    try:
        folder.parent.rename(tmp_path / "elsewhere")
        stale = [observing.is_stale]
        folder.mkdir(parents=True)
        stale.append(observing.is_stale)
        observing.renew()
        assert [*stale, observing.is_stale] == [False, True, False]
        told.clear()
        (folder / "saved.py").write_text("x = 1\n")
        assert told.wait(20)
    finally:
        observing.stop()


def test_who_looks_may_fail_and_is_told_again(tmp_path: Path) -> None:
    folder = tmp_path / "skills"
    with watching(folder) as looks:
        looks.fail = 1
        (folder / "one.py").write_text("x = 1\n")
        until("it is looked at again", lambda: len(looks.seen) >= 2, 20)


WITHOUT_WATCHES = """
import resource, sys, threading
from pathlib import Path
from sidecar.watch.folder_watch import FolderWatch

folder, looked = Path(sys.argv[1]), threading.Event()
folder.mkdir()
watch = FolderWatch([folder], lambda unsettled: looked.set(), poll_unwatched=0.1)
most = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (3, most[1]))
watch.start()
resource.setrlimit(resource.RLIMIT_NOFILE, most)
(folder / "saved.py").write_text("x = 1")
assert looked.wait(30), "the save was not seen"
watch.stop()
"""


def test_where_the_system_watches_nothing_the_folders_are_looked_at(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WITHOUT_WATCHES, str(tmp_path / "skills")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=90)
    assert done.returncode == 0, done.stderr
    assert "does not report changed skills" in done.stderr
