"""Crash points: named places where a test kills or freezes the process.

`LOOPWRIGHT_CRASH_AT` is a comma list of `POINT`, `POINT#n` for the nth time that a process passes, and `freeze:POINT`
for SIGSTOP instead of SIGKILL. `@` means the list in the home's file `crash/plan`, read at every point. Each entry
strikes once a home: the file `crash/ENTRY`, with the process id in it, is made first, so that the next process
survives. Without a plan a point is one look at an empty list.
"""

from __future__ import annotations

import os
import re
import signal
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

FROM_FILE = "@"
_ENTRY = re.compile(r"(?P<freeze>freeze:)?(?P<point>[a-z_.-]+)(?:#(?P<nth>[1-9]\d*))?")


@dataclass(frozen=True)
class _Entry:
    text: str
    point: str
    nth: int
    signal: signal.Signals


def _entries(plan: str) -> list[_Entry]:
    entries = []
    for text in filter(None, (part.strip() for part in plan.split(","))):
        found = _ENTRY.fullmatch(text)
        if found is None:
            raise ValueError(f"{text!r} is no crash point; write POINT, POINT#2 or freeze:POINT")
        struck = signal.SIGSTOP if found["freeze"] else signal.SIGKILL
        entries.append(_Entry(text, found["point"], int(found["nth"] or 1), struck))
    return entries


class _Gate:
    """A frozen process must not hold the database for another of its threads: it is frozen between two writes."""

    def __init__(self) -> None:
        self._moved = threading.Condition()
        self._inside = 0
        self._shut = False
        self._mine = threading.local()

    @contextmanager
    def passed(self) -> Iterator[None]:
        with self._moved:
            self._moved.wait_for(lambda: not self._shut)
            self._inside += 1
        self._mine.writes = True
        try:
            yield
        finally:
            self._mine.writes = False
            with self._moved:
                self._inside -= 1
                self._moved.notify_all()

    @contextmanager
    def closed(self) -> Iterator[None]:
        if getattr(self._mine, "writes", False):
            # Frozen inside its own transaction: that is what was asked for.
            yield
            return
        with self._moved:
            self._shut = True
            self._moved.wait_for(lambda: self._inside == 0)
        yield
        with self._moved:
            self._shut = False
            self._moved.notify_all()


_gate = _Gate()
_UNARMED = nullcontext()


class _Armed:
    """The plan of one process, with how often it has come by each entry's point."""

    def __init__(self, plan: str, folder: Path) -> None:
        self._plan = plan
        self._folder = folder
        self._passes: Counter[tuple[int, str]] = Counter()
        self._lock = threading.Lock()
        folder.mkdir(parents=True, exist_ok=True)

    def reached(self, name: str) -> None:
        made, entries = self._now()
        for entry in entries:
            if entry.point == name and self._comes_by(made, entry) and self._is_first(entry):
                _strike(entry.signal)

    def _now(self) -> tuple[int, list[_Entry]]:
        """The entries, and when they were written: the counting begins anew with a new plan."""
        if self._plan != FROM_FILE:
            return 0, _entries(self._plan)
        try:
            with (self._folder / "plan").open() as file:
                return os.fstat(file.fileno()).st_mtime_ns, _entries(file.read())
        except FileNotFoundError:
            return 0, []

    def _comes_by(self, made: int, entry: _Entry) -> bool:
        with self._lock:
            self._passes[made, entry.text] += 1
            return self._passes[made, entry.text] == entry.nth

    def _is_first(self, entry: _Entry) -> bool:
        try:
            with (self._folder / entry.text).open("x") as marker:
                marker.write(str(os.getpid()))
        except FileExistsError:
            return False
        return True


def _strike(how: signal.Signals) -> None:
    if how is signal.SIGSTOP:
        with _gate.closed():
            # Sent to this thread, it takes effect before the call returns; else the gate might open first.
            signal.pthread_kill(threading.get_ident(), how)
    else:
        os.kill(os.getpid(), how)


_armed: list[_Armed] = []


def check(plan: str) -> None:
    """Raises ValueError for what is no plan."""
    _entries("" if plan == FROM_FILE else plan)


def arm(plan: str, home: Path) -> None:
    """Have this process strike where `plan` says; an empty plan disarms it."""
    _armed[:] = [_Armed(plan, home / "crash")] if plan else []


def point(*name: str) -> None:
    """A place with a name, given in parts that dots join."""
    for armed in _armed:
        armed.reached(".".join(name))


def writing() -> AbstractContextManager[None]:
    """Around a write transaction, so that no other thread's freeze falls into it."""
    return _gate.passed() if _armed else _UNARMED


@contextmanager
def around(name: str) -> Iterator[None]:
    """The places before and after a call that leaves the house: `NAME.before`, `NAME.after`."""
    point(name, "before")
    yield
    point(name, "after")
