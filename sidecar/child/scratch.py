"""The one folder a run can write to: what a run leaves there is gone with it."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

_MOST_FILES = 20_000


class Scratch:
    """`own`: the folder is a file system by itself, so that all that is counted there is the skill's."""

    def __init__(self, folder: Path, *, own: bool) -> None:
        self._folder = folder
        self._own = own

    def enter(self) -> None:
        """Called in a run's process: work in a folder of its own, which is where temporary files go."""
        place = self._of(os.getpid())
        place.mkdir(mode=0o700)
        os.chdir(place)
        os.environ["HOME"] = os.environ["TMPDIR"] = tempfile.tempdir = str(place)

    def forget(self, pid: int) -> None:
        """The run of that process ended. Raises OSError when its files cannot be removed."""
        _remove(self._of(pid))

    def clear(self) -> None:
        """No run is there any more. Raises OSError."""
        for entry in list(self._folder.iterdir()):
            _remove(entry)

    @property
    def crowded(self) -> bool:
        """Whether there are more files than any skill needs: each takes memory, however small it is."""
        if not self._own:
            return False
        there = os.statvfs(self._folder)
        return there.f_files - there.f_ffree > _MOST_FILES

    def _of(self, pid: int) -> Path:
        return self._folder / f"run-{pid}"


def _remove(path: Path) -> None:
    try:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    except RecursionError:
        raise OSError(f"{path} is too deep to be removed") from None
