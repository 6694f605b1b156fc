"""The scratch folder, the only one that runs can write to; what a run leaves there is removed with it."""

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
# The disk counts as full when less than one part in this many is free.
_LEAST_FREE = 8
_CROWDED = "too many files were made"


@dataclass(frozen=True)
class _FolderUsage:
    """Files and bytes of a folder; `hidden` says why there may be more."""

    files: int
    size: int
    hidden: str = ""

    def reason(self, disk: int) -> str:
        """Return why this is too much; empty when it is not."""
        if self.files > _MOST_FILES:
            return _CROWDED
        return f"it wrote more than {disk // MEBIBYTE} MiB" if self.size > disk else ""


class Scratch:
    """A folder with a subfolder for each run.

    With `own`, the folder is a file system of limited size that only this skill uses. Otherwise its files are counted,
    up to `disk` bytes.
    """

    def __init__(self, folder: Path, *, own: bool, disk: int) -> None:
        self._folder = folder
        self._own = own
        self._disk = disk

    def enter(self) -> Path:
        """Work in a subfolder from now on, also for temporary files; called in a run's process."""
        folder = self._run_folder(os.getpid())
        folder.mkdir(mode=0o700)
        os.chdir(folder)
        os.environ["HOME"] = os.environ["TMPDIR"] = tempfile.tempdir = str(folder)
        return folder

    def remove(self, pid: int) -> None:
        """Remove the files of a run that ended; raises OSError when they cannot be removed."""
        _remove(self._run_folder(pid))

    def clear(self) -> None:
        """Remove everything, when no run is left; raises OSError."""
        for entry in list(self._folder.iterdir()):
            _remove(entry)

    def find_excesses(self, pids: Sequence[int]) -> dict[int, str]:
        """Return which runs have to end, and why: too many files, too large ones, or no room left for other runs.

        The number of files is limited since even empty ones take memory.
        """
        if self._own:
            there = os.statvfs(self._folder)
            crowded = there.f_files - there.f_ffree > _MOST_FILES
            full = len(pids) > 1 and there.f_bavail * _LEAST_FREE < there.f_blocks
            return self._largest(pids, crowded=crowded) if crowded or full else {}
        # Files beside the runs' folders belong to no run in particular.
        beside = self._count(self._folder, except_for={self._run_folder(pid) for pid in pids})
        if beside.hidden or beside.reason(self._disk):
            return dict.fromkeys(pids, beside.hidden or beside.reason(self._disk))
        found = {pid: self._count(self._run_folder(pid)) for pid in pids}
        return {pid: why for pid, one in found.items() if (why := one.hidden or one.reason(self._disk))}

    def _largest(self, pids: Sequence[int], *, crowded: bool) -> dict[int, str]:
        found = {pid: self._count(self._run_folder(pid)) for pid in pids}
        if crowded:
            return {max(found, key=lambda pid: found[pid].files): _CROWDED}
        most = max(found, key=lambda pid: found[pid].size)
        if found[most].size * 2 < self._disk:
            return {}
        return {most: f"it wrote {found[most].size // MEBIBYTE} MiB, and other runs need room too"}

    def _count(self, folder: Path, except_for: Container[Path] = ()) -> _FolderUsage:
        folders, files, size = [folder], 0, 0
        while folders:
            try:
                with os.scandir(folders.pop()) as entries:
                    for entry in entries:
                        if Path(entry.path) in except_for:
                            continue
                        files += 1
                        size += entry.stat(follow_symlinks=False).st_blocks * _BLOCK
                        if entry.is_dir(follow_symlinks=False):
                            folders.append(Path(entry.path))
                        if files > _MOST_FILES:
                            return _FolderUsage(files, size)
            except PermissionError:
                return _FolderUsage(files, size, "it hid files from their count")
            except OSError:
                # The folder has vanished or its path is too long; what is moved up while it is removed is counted then.
                continue
        return _FolderUsage(files, size)

    def _run_folder(self, pid: int) -> Path:
        return self._folder / f"run-{pid}"


def _remove(path: Path) -> None:
    try:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, onerror=_open_up)
        else:
            path.unlink(missing_ok=True)
    except RecursionError:
        raise OSError(f"{path} is nested too deeply to be removed") from None


def _open_up(_: object, path: str, failed: object) -> None:
    """Open a folder that is shut and remove it with its content; raises OSError for other obstacles."""
    shut = next((one for one in (Path(path), Path(path).parent) if _is_shut(one)), None)
    if shut is None:
        raise OSError(f"{path} cannot be removed: {failed}")
    shut.chmod(0o700)
    _remove(Path(path))


def _is_shut(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink() and path.stat().st_mode & 0o700 != 0o700
