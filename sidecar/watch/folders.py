"""Skill folders: which files in them are skills, whose they are, and what they hold."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from skills.format.manifest import MAX_SOURCE

# Does not match what editors and tools leave: `.x.swp`, `x.py~`, `#x.py#`, `4913`, `x.tmp`, `__pycache__`.
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}\.py")

FileStamps = frozenset[tuple[str, int, int, int, int]]
"""Path, inode, size and both times of every skill file."""


@dataclass(frozen=True)
class SkillFolder:
    """A folder of skills. `origin` is `shipped`, `person` or `agent`."""

    path: Path
    origin: str


@dataclass(frozen=True)
class SkillFile:
    """A skill file as it was read, cut where it is too long.

    `sha` is the SHA-256 of exactly these bytes; `trouble` says why it could not be read.
    """

    stem: str
    path: Path
    origin: str
    source: bytes
    sha: str
    trouble: str = ""


@dataclass(frozen=True)
class FolderReading:
    """All skill files by stem, and the folders that could not be read, with the reason.

    Two files with the same stem are a clash.
    """

    files: Mapping[str, Sequence[SkillFile]]
    unread: Mapping[Path, str]


def is_skill_name(name: str) -> bool:
    """Return whether a file of this name is a skill."""
    return _NAME.fullmatch(name) is not None


def read_folders(folders: Sequence[SkillFolder]) -> FolderReading:
    """Read all skill files. Never raises: an unreadable folder or file must not look like a deleted one."""
    found: dict[str, list[SkillFile]] = {}
    unread: dict[Path, str] = {}
    for folder in folders:
        try:
            paths = _skill_paths(folder.path)
        except OSError as error:
            unread[folder.path] = _error_reason(error)
            continue
        for path in paths:
            if (file := _read_file(path, folder.origin)) is not None:
                found.setdefault(file.stem, []).append(file)
    return FolderReading(found, unread)


def list_skill_paths(folders: Sequence[SkillFolder]) -> list[Path]:
    """List the paths of all skill files, without reading them."""
    return [path for folder in folders for path in _readable_paths(folder.path)]


def stamp_files(folders: Sequence[Path]) -> FileStamps:
    """Return stamps that change whenever a skill file does, without reading any."""
    found = set()
    for folder in folders:
        for path in _readable_paths(folder):
            try:
                stat = path.stat()
            except OSError:
                continue
            found.add((str(path), stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns))
    return frozenset(found)


def _read_file(path: Path, origin: str) -> SkillFile | None:
    """Read one file; None when it has vanished."""
    try:
        with path.open("rb") as file:
            source = file.read(MAX_SOURCE + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        return SkillFile(path.stem, path, origin, b"", "", _error_reason(error))
    return SkillFile(path.stem, path, origin, source, hashlib.sha256(source).hexdigest())


def _skill_paths(folder: Path) -> list[Path]:
    """List the skill files of a folder; raises OSError when it exists and cannot be listed."""
    try:
        return sorted(path for path in folder.iterdir() if is_skill_name(path.name) and _is_file(path))
    except (FileNotFoundError, NotADirectoryError):
        return []


def _readable_paths(folder: Path) -> list[Path]:
    try:
        return _skill_paths(folder)
    except OSError:
        return []


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        # The target of a link cannot be seen; reading it will say why.
        return True


def _error_reason(error: OSError) -> str:
    return error.strerror or type(error).__name__
