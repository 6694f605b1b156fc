"""Notices that a skill file was saved, in whichever way, and nothing else."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
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
from watchdog.observers import Observer
from watchdog.observers.api import ObservedWatch

from sidecar.folders import is_skill_name, stamps

_log = logging.getLogger(__name__)
# Reading a file is told too (opened, closed without a write); who reacted to that would react to himself.
# A file that was renamed to its name is whole: only others of the same moment are waited for.
_SWIFT = 0.005
_CHANGES = {EVENT_TYPE_CREATED, EVENT_TYPE_MODIFIED, EVENT_TYPE_MOVED, EVENT_TYPE_DELETED, EVENT_TYPE_CLOSED}


class FolderWatch(FileSystemEventHandler):
    """Calls `changed` from one thread, `settle` seconds after the last sign that a skill file is being written, and at
    once for one that was renamed to its name.

    Each folder's parent is watched too, so that a folder that is moved away, made anew or moved back is noticed.
    Every `glance` seconds the files' stamps are compared, for what the system did not tell.
    """

    def __init__(
        self, folders: Sequence[Path], changed: Callable[[], None], *, settle: float = 0.05, glance: float = 10.0
    ) -> None:
        self._folders = tuple(folders)
        self._paths = {str(folder) for folder in folders}
        self._changed = changed
        self._settle = settle
        self._glance = glance
        self._observer = Observer()
        self._watches: dict[Path, ObservedWatch] = {}
        self._sign = threading.Condition()
        self._due: float | None = None
        self._folder_moved = False
        self._stop = False

    def start(self) -> None:
        for parent in {folder.parent for folder in self._folders}:
            parent.mkdir(parents=True, exist_ok=True)
            self._observer.schedule(self, str(parent))
        self._watch_folders()
        self._observer.start()
        threading.Thread(target=self._run, name="folder-watch", daemon=True).start()

    def stop(self) -> None:
        with self._sign:
            self._stop = True
            self._sign.notify()
        self._observer.stop()

    def on_any_event(self, event: FileSystemEvent) -> None:
        if event.event_type not in _CHANGES:
            return
        paths = [str(path) for path in (event.src_path, event.dest_path) if path]
        folder_moved = any(path in self._paths for path in paths) and event.event_type != EVENT_TYPE_MODIFIED
        if folder_moved or any(self._is_skill(Path(path)) for path in paths):
            whole = event.event_type == EVENT_TYPE_MOVED and self._is_skill(Path(str(event.dest_path)))
            self._note(folder_moved, _SWIFT if whole and not folder_moved else self._settle)

    def _is_skill(self, path: Path) -> bool:
        return str(path.parent) in self._paths and is_skill_name(path.name)

    def _note(self, folder_moved: bool, pause: float) -> None:
        with self._sign:
            self._due = max(self._due or 0.0, time.monotonic() + pause)
            self._folder_moved |= folder_moved
            self._sign.notify()

    def _watch_folders(self) -> None:
        """Watch the folders that are there now: a watch stays with the folder it was set on, wherever that goes."""
        for folder in self._folders:
            if (old := self._watches.pop(folder, None)) is not None:
                self._observer.unschedule(old)
            if folder.is_dir():
                try:
                    self._watches[folder] = self._observer.schedule(self, str(folder))
                except OSError as error:
                    _log.warning("cannot watch %s (%s); looking every %.0f s instead", folder, error, self._glance)

    def _run(self) -> None:
        seen = stamps(self._folders)
        while True:
            with self._sign:
                if self._due is None and not self._stop:
                    self._sign.wait(self._glance)
                while self._due is not None and not self._stop:
                    left = self._due - time.monotonic()
                    if left <= 0:
                        break
                    self._sign.wait(left)
                if self._stop:
                    return
                told, moved = self._due is not None, self._folder_moved
                self._due, self._folder_moved = None, False
            if moved:
                self._watch_folders()
            now = stamps(self._folders)
            if told or now != seen:
                self._changed()
            seen = now
