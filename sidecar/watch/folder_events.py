"""Subscribe to the system's change events for folders, and know where there are none."""

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
"""Device and inode: a watch stays with the folder it was set on, wherever that goes."""


class FolderEvents:
    """Has `handler` told of what happens in the folders, and in their parents, so that a folder that is moved away,
    made anew or moved back is noticed.
    """

    def __init__(self, folders: Sequence[Path], handler: FileSystemEventHandler) -> None:
        self._folders = tuple(folders)
        self._handler = handler
        self._observer: BaseObserver | None = None
        self._watches: dict[Path, tuple[ObservedWatch, _FolderId]] = {}
        self._trouble = ""

    @property
    def trouble(self) -> str:
        """Why something that is there was not watched when this was last renewed; empty when all was."""
        return self._trouble

    @property
    def is_stale(self) -> bool:
        """Whether another folder is by now where one was watched."""
        return any(_folder_id(path) not in (None, place) for path, (_, place) in self._watches.items())

    def renew(self) -> None:
        """Watch what is there now. Never raises.

        The system has watches for so many folders and no more; its refusal is said once.
        """
        refusals = list(self._renew())
        trouble = "; ".join(refusals)
        if trouble and trouble != self._trouble:
            _log.warning("the system does not tell of changed skills (%s): their folders are looked at", trouble)
        elif self._trouble and not trouble:
            _log.info("the system tells of changed skills again")
        self._trouble = trouble

    def stop(self) -> None:
        if self._observer is not None:
            self._observer.stop()

    def _renew(self) -> Iterator[str]:
        """What the system refuses."""
        try:
            observer = self._running()
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
        """Raises OSError where the system refuses."""
        if (before := self._watches.pop(path, None)) is not None:
            observer.unschedule(before[0])
        if (place := _folder_id(path)) is not None:
            # With a slash at its end a link stands for the folder that it leads to.
            self._watches[path] = (observer.schedule(self._handler, f"{path}{os.sep}"), place)

    def _running(self) -> BaseObserver:
        if self._observer is None:
            observer = Observer()
            observer.start()
            self._observer = observer
        return self._observer


def _folder_id(path: Path) -> _FolderId | None:
    """None where there is no folder."""
    try:
        found = path.stat()
    except OSError:
        return None
    return (found.st_dev, found.st_ino) if stat.S_ISDIR(found.st_mode) else None
