"""Signs of life of work that takes long, and none of work that is over soon."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

import pytest

from core.process.heartbeat import keep_beating

AT_LEAST = 20.0


def _says_yes(act: Callable[[], None]) -> Callable[[], bool]:
    def beat() -> bool:
        act()
        return True

    return beat


def test_work_that_is_over_before_the_first_beat_has_none_and_no_thread() -> None:
    beats: list[str] = []

    def beat() -> bool:
        beats.append("beat")
        return True

    with keep_beating("short", 0.2, beat):
        assert "short" not in {thread.name for thread in threading.enumerate()}
    # Another one, whose first beat is due later, has its beat; by then the one of the first would have come.
    later = threading.Event()
    with keep_beating("later", 0.3, _says_yes(later.set)):
        assert later.wait(AT_LEAST)
    assert beats == []


def test_work_that_lasts_beats_until_it_is_over() -> None:
    came = threading.Semaphore(0)

    def beat() -> bool:
        came.release()
        return True

    with keep_beating("long", 0.01, beat):
        for _ in range(3):
            assert came.acquire(timeout=AT_LEAST)
    assert "long" not in {thread.name for thread in threading.enumerate()}


def test_beat_that_says_no_is_the_last() -> None:
    beats: list[str] = []
    came = threading.Event()

    def beat() -> bool:
        beats.append("beat")
        came.set()
        return False

    with keep_beating("refused", 0.01, beat):
        assert came.wait(AT_LEAST)
        others = threading.Semaphore(0)
        with keep_beating("other", 0.01, _says_yes(others.release)):
            for _ in range(3):
                assert others.acquire(timeout=AT_LEAST)
    assert beats == ["beat"]


def test_beat_that_hangs_holds_up_no_other() -> None:
    hangs, free = threading.Event(), threading.Event()

    def hang() -> bool:
        hangs.set()
        return free.wait(AT_LEAST) and False

    other = threading.Event()
    with keep_beating("hanging", 0.01, hang):
        assert hangs.wait(AT_LEAST)
        with keep_beating("other", 0.01, _says_yes(other.set)):
            assert other.wait(AT_LEAST)
        free.set()


def test_no_beat_is_under_way_after_the_block() -> None:
    begun, over = threading.Event(), threading.Event()

    def beat() -> bool:
        begun.set()
        threading.Event().wait(0.05)
        over.set()
        return True

    def work() -> None:
        with keep_beating("broken", 0.01, beat):
            assert begun.wait(AT_LEAST)
            raise ValueError("lost")

    with pytest.raises(ValueError, match="lost"):
        work()
    assert over.is_set()


def test_forked_process_has_a_heart_of_its_own() -> None:
    def beats() -> bool:
        came = threading.Event()
        with keep_beating("child", 0.01, _says_yes(came.set)):
            return came.wait(AT_LEAST)

    # Its first beat is due before the child's, and it is the parent's.
    with keep_beating("parent", 0.001, lambda: False), keep_beating("late", AT_LEAST, lambda: False):
        child = os.fork()
        if child == 0:
            os._exit(0 if beats() else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
