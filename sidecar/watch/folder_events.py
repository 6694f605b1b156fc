"""Subscribe to the system's change events for folders."""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from watchdog.events import FileSystemEventHandler
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver, ObservedWatch

_log = logging.getLogger(__name__)


_FolderId = tuple[int, int]
"""Device and inode, which stay the same when a folder is moved."""


class FolderEvents:
    """Change events of folders and of their parents, passed to `handler`.

    The parents are watched so that a folder that is moved away, replaced or moved back is noticed.
    """

    def __init__(self, folders: Sequence[Path], handler: FileSystemEventHandler) -> None:
        self._folders = tuple(folders)
        self._handler = handler
        self._observer: BaseObserver | None = None
        self._watches: dict[Path, tuple[ObservedWatch, _FolderId]] = {}
        self._trouble = ""

    @property
    def trouble(self) -> str:
        """Why an existing folder could not be watched at the last renewal; empty when all are watched."""
        return self._trouble

    @property
    def is_stale(self) -> bool:
        """Whether a watched path leads to another folder by now."""
        return any(_folder_id(path) not in (None, folder_id) for path, (_, folder_id) in self._watches.items())

    def renew(self) -> None:
        """Watch the folders that exist now. Never raises.

        The system limits how many folders can be watched. Its refusal is logged once and kept in `trouble`.
        """
        refusals = list(self._renew())
        trouble = "; ".join(refusals)
        if trouble and trouble != self._trouble:
            _log.warning("the system does not report changed skills (%s): their folders are polled instead", trouble)
        elif self._trouble and not trouble:
            _log.info("the system reports changed skills again")
        self._trouble = trouble

    def stop(self) -> None:
        """Stop the observer."""
        if self._observer is not None:
            self._observer.stop()

    def _renew(self) -> Iterator[str]:
        """Watch every folder; yield what the system refuses."""
        try:
            observer = self._start_observer()
        except (OSError, RuntimeError) as error:
            yield str(error)
            return
        for parent in sorted({folder.parent for folder in self._folders}):
            try:
                parent.mkdir(parents=True, exist_ok=True)
                self._watch(observer, parent)
            except OSError as error:
                yield f"{parent}: {error}"
        for folder in self._folders:
            try:
                self._watch(observer, folder)
            except OSError as error:
                yield f"{folder}: {error}"

    def _watch(self, observer: BaseObserver, path: Path) -> None:
        """Watch one folder, if it exists; raises OSError where the system refuses."""
        if (before := self._watches.pop(path, None)) is not None:
            observer.unschedule(before[0])
        if (folder_id := _folder_id(path)) is not None:
            # With a slash at the end, the folder behind a symbolic link is watched and not the link.
            self._watches[path] = (observer.schedule(self._handler, f"{path}{os.sep}"), folder_id)

    def _start_observer(self) -> BaseObserver:
        if self._observer is None:
            observer = Observer()
            observer.start()
            self._observer = observer
        return self._observer


def _folder_id(path: Path) -> _FolderId | None:
    """Return the folder's id; None where there is no folder."""
    try:
        found = path.stat()
    except OSError:
        return None
    return (found.st_dev, found.st_ino) if stat.S_ISDIR(found.st_mode) else None
