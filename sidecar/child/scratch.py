"""The one folder a run can write to: what a run leaves there is gone with it."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from sidecar.child.limits import MEBIBYTE

_MOST_FILES = 20_000
_BLOCK = 512
_CROWDED = "too many files were made"


class Scratch:
    """`own`: the folder is a file system by itself, so that all that is counted there is the skill's, and it holds no
    more than the limit; otherwise what lies in it is counted, up to `disk` bytes."""

    def __init__(self, folder: Path, *, own: bool, disk: int) -> None:
        self._folder = folder
        self._own = own
        self._disk = disk

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
    def over(self) -> str:
        """Why the runs have to end, empty while they need not: there are more files than any skill needs, each of
        which takes memory however small it is, or they are larger than they may be."""
        if self._own:
            there = os.statvfs(self._folder)
            return _CROWDED if there.f_files - there.f_ffree > _MOST_FILES else ""
        return self._counted()

    def _counted(self) -> str:
        folders, files, size = [self._folder], 0, 0
        while folders:
            try:
                with os.scandir(folders.pop()) as entries:
                    for entry in entries:
                        files += 1
                        size += entry.stat(follow_symlinks=False).st_blocks * _BLOCK
                        if entry.is_dir(follow_symlinks=False):
                            folders.append(Path(entry.path))
                        if files > _MOST_FILES:
                            return _CROWDED
                        if size > self._disk:
                            return f"it wrote more than {self._disk // MEBIBYTE} MiB"
            except PermissionError:
                return "it hid files from their count"
            except OSError:
                # It went away, or is too deep to be named: what is removed later is counted then.
                continue
        return ""

    def _of(self, pid: int) -> Path:
        return self._folder / f"run-{pid}"


def _remove(path: Path) -> None:
    try:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, onerror=_open_up)
        else:
            path.unlink(missing_ok=True)
    except RecursionError:
        raise OSError(f"{path} is too deep to be removed") from None


def _open_up(_: object, path: str, failed: object) -> None:
    """A folder that was shut is opened, and removed with what is in it; raises what else is in the way."""
    shut = next((one for one in (Path(path), Path(path).parent) if _is_shut(one)), None)
    if shut is None:
        raise OSError(f"{path} cannot be removed: {failed}")
    shut.chmod(0o700)
    _remove(Path(path))


def _is_shut(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink() and path.stat().st_mode & 0o700 != 0o700
