"""Watch the skill folders and report when a skill file was saved, in whichever way."""

from __future__ import annotations

import logging
import os
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass
from pathlib import Path

from watchdog.events import (
    EVENT_TYPE_CLOSED,
    EVENT_TYPE_CREATED,
    EVENT_TYPE_DELETED,
    EVENT_TYPE_MODIFIED,
    EVENT_TYPE_MOVED,
    FileSystemEvent,
    FileSystemEventHandler,
)

from sidecar.watch.folder_events import FolderEvents
from sidecar.watch.folders import FileStamps, is_skill_name, stamp_files

_log = logging.getLogger(__name__)
# Reading a file is told too (opened, closed without a write); who reacted to that would react to himself.
_CHANGES = {EVENT_TYPE_CREATED, EVENT_TYPE_MODIFIED, EVENT_TYPE_MOVED, EVENT_TYPE_DELETED, EVENT_TYPE_CLOSED}
_WRITING = {EVENT_TYPE_CREATED, EVENT_TYPE_MODIFIED}
# A file that was renamed to its name is whole: only others of the same moment are waited for.
_SWIFT = 0.005
# Other systems do not tell when a file is closed.
_REPORTS_CLOSES = sys.platform == "linux"
_RENEW_SECONDS = 60.0
_AGAIN_SECONDS = 1.0


@dataclass
class _PendingChange:
    """That a file, or a folder of them, is being changed; it counts as whole at `due`, which `latest` bounds.

    `closed` says that its writer has closed it, or never had it open.
    """

    due: float
    latest: float
    closed: bool = False


class FolderWatch(FileSystemEventHandler):
    """Calls `changed` from one thread when a skill file is whole: `settle` seconds after its writer closed it, at once
    when it was renamed to its name, `idle` seconds after the last of it while it stays open, and in any case after
    `longest`. It is told the paths of those that are not whole, which hold up nobody but themselves.

    Every `glance` seconds the files' stamps are compared, for what the system did not tell; where it tells nothing,
    every `blind` seconds.
    """

    def __init__(
        self,
        folders: Sequence[Path],
        changed: Callable[[Set[str]], None],
        *,
        settle: float = 0.05,
        idle: float = 2.0,
        longest: float = 5.0,
        glance: float = 10.0,
        blind: float = 1.0,
    ) -> None:
        self._folders = tuple(folders)
        self._paths = {str(folder) for folder in folders}
        self._changed = changed
        self._settle = settle
        self._idle = idle
        self._longest = longest
        self._glance = glance
        self._blind = blind
        self._observing = FolderEvents(folders, self)
        self._sign = threading.Condition()
        self._signs: dict[str, _PendingChange] = {}
        self._stop = False

    def start(self) -> None:
        """Never raises: what the system does not tell is looked for."""
        seen = stamp_files(self._folders)
        self._observing.renew()
        threading.Thread(target=self._run, args=(seen,), name="folder-watch", daemon=True).start()

    def stop(self) -> None:
        with self._sign:
            self._stop = True
            self._sign.notify()
        self._observing.stop()

    def on_any_event(self, event: FileSystemEvent) -> None:
        if event.event_type not in _CHANGES:
            return
        paths = [str(Path(os.fsdecode(path))) for path in (event.src_path, event.dest_path) if path]
        for path in paths:
            if self._is_skill(path):
                is_open = _REPORTS_CLOSES and event.event_type in _WRITING and _may_be_open(path)
                self._note([path], self._settle, closed=not is_open)
        if event.event_type == EVENT_TYPE_MOVED and self._is_skill(paths[-1]):
            self._note([paths[-1]], _SWIFT, whole=True)
        if event.event_type != EVENT_TYPE_MODIFIED:
            self._note((path for path in paths if path in self._paths), self._settle)
        if event.event_type == EVENT_TYPE_DELETED:
            # With a folder's parent goes what would tell that it is back.
            self._note((path for path in self._paths if str(Path(path).parent) in paths), self._settle)

    def _is_skill(self, path: str) -> bool:
        return str(Path(path).parent) in self._paths and is_skill_name(Path(path).name)

    def _note(self, paths: Iterable[str], pause: float, *, whole: bool = False, closed: bool = True) -> None:
        """`closed` as far as is known; what is closed stays so, since times and modes are set afterwards."""
        now = time.monotonic()
        with self._sign:
            for path in paths:
                sign = self._signs.setdefault(path, _PendingChange(now, now + self._longest))
                sooner = whole or (closed and not sign.closed)
                sign.closed |= closed
                due = now + (pause if sign.closed else self._idle)
                sign.due = min(due if sooner else max(sign.due, due), sign.latest)
            self._sign.notify()

    def _run(self, seen: FileStamps) -> None:
        renewed = time.monotonic()
        while (due := self._due(self._blind if self._observing.trouble else self._glance)) is not None:
            moved = bool(due & self._paths) or self._observing.is_stale
            if moved or (self._observing.trouble and time.monotonic() - renewed > _RENEW_SECONDS):
                self._observing.renew()
                renewed = time.monotonic()
            now = stamp_files(self._folders)
            # What is in a folder that was moved here was written elsewhere.
            if not due & self._paths:
                self._note_untold({path for path, *_ in now ^ seen} - due)
            seen = now
            if due:
                self._tell(due)

    def _due(self, glance: float) -> Set[str] | None:
        """Wait for what is whole by now, but not longer than a glance takes; None at the end."""
        until = time.monotonic() + glance
        with self._sign:
            while not self._stop:
                now = time.monotonic()
                left = min((sign.due for sign in self._signs.values()), default=until) - now
                if left <= 0 or now >= until:
                    due = {path for path, sign in self._signs.items() if sign.due <= now + _SWIFT}
                    for path in due:
                        del self._signs[path]
                    return due
                self._sign.wait(min(left, until - now))
        return None

    def _note_untold(self, changed: Set[str]) -> None:
        with self._sign:
            untold = changed - set(self._signs)
        self._note(untold, self._settle)

    def _tell(self, due: Set[str]) -> None:
        with self._sign:
            unsettled = frozenset(self._signs) - self._paths
        try:
            self._changed(unsettled)
        except Exception:  # noqa: BLE001 - the thread's boundary: who ends it is told of no save any more
            _log.exception("what was saved could not be looked at; it is tried again")
            self._note(due, _AGAIN_SECONDS)


def _may_be_open(path: str) -> bool:
    """Whether somebody may be about to write it: a link comes whole."""
    try:
        found = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISREG(found.st_mode) and found.st_nlink == 1
