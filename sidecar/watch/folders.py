"""Skill folders: which files in them are skills, who they come from, and what they hold."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from skills.format.manifest import MAX_SOURCE

# Editors and tools leave `.x.swp`, `x.py~`, `#x.py#`, `4913`, `x.tmp`, `__pycache__`: none of them is a name like this.
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}\.py")

FileStamps = frozenset[tuple[str, int, int, int, int]]
"""A file's path, inode, size and times, of every skill file."""


@dataclass(frozen=True)
class SkillFolder:
    """`origin` is `shipped`, `person` or `agent`."""

    path: Path
    origin: str


@dataclass(frozen=True)
class SkillFile:
    """One skill file as it was read, no further than to where it is too long. `sha` is the SHA-256 of exactly these
    bytes; `trouble` says why it could not be read.
    """

    stem: str
    path: Path
    origin: str
    source: bytes
    sha: str
    trouble: str = ""


@dataclass(frozen=True)
class FolderReading:
    """Every skill file by its stem; more than one of a stem is a clash. What `unread` holds could not be seen."""

    files: Mapping[str, Sequence[SkillFile]]
    unread: Mapping[Path, str]


def is_skill_name(name: str) -> bool:
    return _NAME.fullmatch(name) is not None


def read_folders(folders: Sequence[SkillFolder]) -> FolderReading:
    """Raises nothing: what cannot be read is not gone."""
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
    """Every skill file there is, unread."""
    return [path for folder in folders for path in _readable_paths(folder.path)]


def stamp_files(folders: Sequence[Path]) -> FileStamps:
    """Changes whenever a skill file does, as far as can be told without reading any."""
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
    """None when it went away meanwhile."""
    try:
        with path.open("rb") as file:
            source = file.read(MAX_SOURCE + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        return SkillFile(path.stem, path, origin, b"", "", _error_reason(error))
    return SkillFile(path.stem, path, origin, source, hashlib.sha256(source).hexdigest())


def _skill_paths(folder: Path) -> list[Path]:
    """Raises OSError where there is a folder that cannot be looked into."""
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
        # Where a link leads cannot be seen; reading it says why.
        return True


def _error_reason(error: OSError) -> str:
    return error.strerror or type(error).__name__
