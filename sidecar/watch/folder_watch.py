"""Watch the skill folders and report saved skill files, however they are written."""

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
# Reading a file also causes events (opened, closed without a write). Reacting to those would never end.
_CHANGES = {EVENT_TYPE_CREATED, EVENT_TYPE_MODIFIED, EVENT_TYPE_MOVED, EVENT_TYPE_DELETED, EVENT_TYPE_CLOSED}
_WRITES = {EVENT_TYPE_CREATED, EVENT_TYPE_MODIFIED}
# A file that was renamed to its name is whole; only others of the same moment are waited for.
_RENAME_SECONDS = 0.005
# Only Linux reports when a file is closed.
_REPORTS_CLOSES = sys.platform == "linux"
_RENEW_SECONDS = 60.0
_RETRY_SECONDS = 1.0


@dataclass
class _PendingChange:
    """A file or folder that is being changed.

    It counts as whole at `due`, which never gets later than `latest`. `closed`: its writer has closed it, or never had
    it open.
    """

    due: float
    latest: float
    closed: bool = False


class FolderWatch(FileSystemEventHandler):
    """Watches folders and calls `changed`, from one thread, whenever a skill file is whole.

    A file is whole `settle` seconds after its writer closed it, immediately when it was renamed to its name, `idle`
    seconds after the last write while it stays open, and in any case after `longest` seconds. `changed` receives the
    paths of files that are not whole yet.

    Every `poll` seconds the files' stamps are compared, for changes that the system did not report; every
    `poll_unwatched` seconds where it reports none.
    """

    def __init__(
        self,
        folders: Sequence[Path],
        changed: Callable[[Set[str]], None],
        *,
        settle: float = 0.05,
        idle: float = 2.0,
        longest: float = 5.0,
        poll: float = 10.0,
        poll_unwatched: float = 1.0,
    ) -> None:
        self._folders = tuple(folders)
        self._folder_paths = {str(folder) for folder in folders}
        self._changed = changed
        self._settle = settle
        self._idle = idle
        self._longest = longest
        self._poll = poll
        self._poll_unwatched = poll_unwatched
        self._events = FolderEvents(folders, self)
        self._condition = threading.Condition()
        self._pending: dict[str, _PendingChange] = {}
        self._stop = False

    def start(self) -> None:
        """Start watching. Never raises: folders that cannot be watched are polled."""
        stamps = stamp_files(self._folders)
        self._events.renew()
        threading.Thread(target=self._run, args=(stamps,), name="folder-watch", daemon=True).start()

    def stop(self) -> None:
        """Stop watching."""
        with self._condition:
            self._stop = True
            self._condition.notify()
        self._events.stop()

    def on_any_event(self, event: FileSystemEvent) -> None:
        """Note which files and folders an event concerns."""
        if event.event_type not in _CHANGES:
            return
        paths = [str(Path(os.fsdecode(path))) for path in (event.src_path, event.dest_path) if path]
        for path in paths:
            if self._is_skill(path):
                is_open = _REPORTS_CLOSES and event.event_type in _WRITES and _may_be_open(path)
                self._note([path], self._settle, closed=not is_open)
        if event.event_type == EVENT_TYPE_MOVED and self._is_skill(paths[-1]):
            self._note([paths[-1]], _RENAME_SECONDS, whole=True)
        if event.event_type != EVENT_TYPE_MODIFIED:
            self._note((path for path in paths if path in self._folder_paths), self._settle)
        if event.event_type == EVENT_TYPE_DELETED:
            # A parent that is deleted takes its watch with it, so the folder's return would not be reported.
            self._note((path for path in self._folder_paths if str(Path(path).parent) in paths), self._settle)

    def _is_skill(self, path: str) -> bool:
        return str(Path(path).parent) in self._folder_paths and is_skill_name(Path(path).name)

    def _note(self, paths: Iterable[str], pause: float, *, whole: bool = False, closed: bool = True) -> None:
        """Note that paths are being changed, and when they count as whole.

        A file counts as closed once it was: its times and modes are often set afterwards.
        """
        now = time.monotonic()
        with self._condition:
            for path in paths:
                change = self._pending.setdefault(path, _PendingChange(now, now + self._longest))
                sooner = whole or (closed and not change.closed)
                change.closed |= closed
                due = now + (pause if change.closed else self._idle)
                change.due = min(due if sooner else max(change.due, due), change.latest)
            self._condition.notify()

    def _run(self, stamps: FileStamps) -> None:
        renewed = time.monotonic()
        while (due := self._wait_due(self._poll_unwatched if self._events.trouble else self._poll)) is not None:
            is_folder_changed = bool(due & self._folder_paths) or self._events.is_stale
            if is_folder_changed or (self._events.trouble and time.monotonic() - renewed > _RENEW_SECONDS):
                self._events.renew()
                renewed = time.monotonic()
            now = stamp_files(self._folders)
            # A folder that was moved here was written elsewhere, so its files are whole.
            if not due & self._folder_paths:
                self._note_unreported({path for path, *_ in now ^ stamps} - due)
            stamps = now
            if due:
                self._report(due)

    def _wait_due(self, poll: float) -> Set[str] | None:
        """Wait until files are whole, for one poll at most, and return their paths; None when stopped."""
        until = time.monotonic() + poll
        with self._condition:
            while not self._stop:
                now = time.monotonic()
                left = min((change.due for change in self._pending.values()), default=until) - now
                if left <= 0 or now >= until:
                    due = {path for path, change in self._pending.items() if change.due <= now + _RENAME_SECONDS}
                    for path in due:
                        del self._pending[path]
                    return due
                self._condition.wait(min(left, until - now))
        return None

    def _note_unreported(self, changed: Set[str]) -> None:
        with self._condition:
            unreported = changed - set(self._pending)
        self._note(unreported, self._settle)

    def _report(self, due: Set[str]) -> None:
        with self._condition:
            unsettled = frozenset(self._pending) - self._folder_paths
        try:
            self._changed(unsettled)
        except Exception:  # noqa: BLE001 - the thread's boundary: without it no save would be noticed any more
            _log.exception("a saved skill could not be handled; it is tried again")
            self._note(due, _RETRY_SECONDS)


def _may_be_open(path: str) -> bool:
    """Return whether a program may still be writing the file; a link is created whole."""
    try:
        found = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISREG(found.st_mode) and found.st_nlink == 1
