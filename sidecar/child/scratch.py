"""The scratch folder, the only one that a run can write to; what a run leaves there is removed with it."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Container, Sequence
from dataclasses import dataclass
from pathlib import Path

from sidecar.child.limits import MEBIBYTE

_MOST_FILES = 20_000
_BLOCK = 512
# A disk of which less than such a part is free is full.
_KEPT_FREE = 8
_CROWDED = "too many files were made"


@dataclass(frozen=True)
class _Counted:
    """`hidden` says that there is more, which cannot be seen."""

    files: int
    size: int
    hidden: str = ""

    def reason(self, disk: int) -> str:
        if self.files > _MOST_FILES:
            return _CROWDED
        return f"it wrote more than {disk // MEBIBYTE} MiB" if self.size > disk else ""


class Scratch:
    """`own`: the folder is a file system by itself, so that all that is counted there is the skill's, and it holds no
    more than the limit; otherwise what lies in it is counted, up to `disk` bytes."""

    def __init__(self, folder: Path, *, own: bool, disk: int) -> None:
        self._folder = folder
        self._own = own
        self._disk = disk

    def enter(self) -> Path:
        """Called in a run's process: work in a folder of its own, which is where temporary files go."""
        place = self._of(os.getpid())
        place.mkdir(mode=0o700)
        os.chdir(place)
        os.environ["HOME"] = os.environ["TMPDIR"] = tempfile.tempdir = str(place)
        return place

    def forget(self, pid: int) -> None:
        """The run of that process ended. Raises OSError when its files cannot be removed."""
        _remove(self._of(pid))

    def clear(self) -> None:
        """No run is there any more. Raises OSError."""
        for entry in list(self._folder.iterdir()):
            _remove(entry)

    def over(self, pids: Sequence[int]) -> dict[int, str]:
        """Which of the runs have to end, and why: their files are more than any skill needs, each of which takes memory
        however small it is, or larger than they may be, or take the room of the others."""
        if self._own:
            there = os.statvfs(self._folder)
            crowded = there.f_files - there.f_ffree > _MOST_FILES
            full = len(pids) > 1 and there.f_bavail * _KEPT_FREE < there.f_blocks
            return self._largest(pids, crowded=crowded) if crowded or full else {}
        # What lies beside the folders of the runs is anybody's.
        beside = self._counted(self._folder, but={self._of(pid) for pid in pids})
        if beside.hidden or beside.reason(self._disk):
            return dict.fromkeys(pids, beside.hidden or beside.reason(self._disk))
        found = {pid: self._counted(self._of(pid)) for pid in pids}
        return {pid: why for pid, one in found.items() if (why := one.hidden or one.reason(self._disk))}

    def _largest(self, pids: Sequence[int], *, crowded: bool) -> dict[int, str]:
        found = {pid: self._counted(self._of(pid)) for pid in pids}
        if crowded:
            return {max(found, key=lambda pid: found[pid].files): _CROWDED}
        most = max(found, key=lambda pid: found[pid].size)
        if found[most].size * 2 < self._disk:
            return {}
        return {most: f"it wrote {found[most].size // MEBIBYTE} MiB, and other runs need room too"}

    def _counted(self, folder: Path, but: Container[Path] = ()) -> _Counted:
        folders, files, size = [folder], 0, 0
        while folders:
            try:
                with os.scandir(folders.pop()) as entries:
                    for entry in entries:
                        if Path(entry.path) in but:
                            continue
                        files += 1
                        size += entry.stat(follow_symlinks=False).st_blocks * _BLOCK
                        if entry.is_dir(follow_symlinks=False):
                            folders.append(Path(entry.path))
                        if files > _MOST_FILES:
                            return _Counted(files, size)
            except PermissionError:
                return _Counted(files, size, "it hid files from their count")
            except OSError:
                # It went away, or is too deep to be named: what is removed later is counted then.
                continue
        return _Counted(files, size)

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
