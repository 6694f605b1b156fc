"""Crash points: named places where a test kills or freezes the process.

`LOOPWRIGHT_CRASH_AT` is a comma-separated list of `POINT`, `POINT#n` for the nth time that a process passes the point,
and `freeze:POINT` for SIGSTOP instead of SIGKILL. `@` means the list in the home's file `crash/plan`, read at every
point. Each entry takes effect once per home: the file `crash/ENTRY` with the process id is created first, so that the
next process survives. Without a plan, passing a point only looks at an empty list.
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


def _parse_plan(plan: str) -> list[_Entry]:
    entries = []
    for text in filter(None, (part.strip() for part in plan.split(","))):
        found = _ENTRY.fullmatch(text)
        if found is None:
            raise ValueError(f"{text!r} is not a crash point; write POINT, POINT#2 or freeze:POINT")
        kind = signal.SIGSTOP if found["freeze"] else signal.SIGKILL
        entries.append(_Entry(text, found["point"], int(found["nth"] or 1), kind))
    return entries


class _Gate:
    """Lets a process freeze only while no other thread writes, so that it does not keep the database locked."""

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
            # This point lies inside the thread's own transaction, so freezing there is intended.
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
    """The plan of a process, with a count of how often it has passed the point of each entry."""

    def __init__(self, plan: str, folder: Path) -> None:
        self._plan = plan
        self._folder = folder
        self._passes: Counter[tuple[int, str]] = Counter()
        self._lock = threading.Lock()
        folder.mkdir(parents=True, exist_ok=True)

    def pass_point(self, name: str) -> None:
        version, entries = self._read_plan()
        for entry in entries:
            if entry.point == name and self._is_due(version, entry) and self._is_first(entry):
                _strike(entry.signal)

    def _read_plan(self) -> tuple[int, list[_Entry]]:
        """Return the entries and the time of their file, since counts start again with a new plan."""
        if self._plan != FROM_FILE:
            return 0, _parse_plan(self._plan)
        try:
            with (self._folder / "plan").open() as file:
                return os.fstat(file.fileno()).st_mtime_ns, _parse_plan(file.read())
        except FileNotFoundError:
            return 0, []

    def _is_due(self, version: int, entry: _Entry) -> bool:
        with self._lock:
            self._passes[version, entry.text] += 1
            return self._passes[version, entry.text] == entry.nth

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
            # A signal to this thread takes effect before the call returns, and so before the gate opens.
            signal.pthread_kill(threading.get_ident(), how)
    else:
        os.kill(os.getpid(), how)


_armed: list[_Armed] = []


def check(plan: str) -> None:
    """Raise ValueError for a malformed plan."""
    _parse_plan("" if plan == FROM_FILE else plan)


def arm(plan: str, home: Path) -> None:
    """Make this process crash as `plan` says; an empty plan disarms it."""
    _armed[:] = [_Armed(plan, home / "crash")] if plan else []


def point(*name: str) -> None:
    """Pass a crash point, named by parts that are joined with dots."""
    for armed in _armed:
        armed.pass_point(".".join(name))


def writing() -> AbstractContextManager[None]:
    """Enclose a write transaction, so that no other thread freezes the process during it."""
    return _gate.passed() if _armed else _UNARMED


@contextmanager
def around(name: str) -> Iterator[None]:
    """Enclose a call to another service in the crash points `NAME.before` and `NAME.after`."""
    point(name, "before")
    yield
    point(name, "after")
