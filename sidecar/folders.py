"""Which files are skills, whose they are, and what they hold."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

# Editors and tools leave `.x.swp`, `x.py~`, `#x.py#`, `4913`, `x.tmp`, `__pycache__`: none of them is a name like this.
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}\.py")

Stamps = frozenset[tuple[str, int, int, int, int]]
"""A file's path, inode, size and times, of every skill file."""


@dataclass(frozen=True)
class Folder:
    """`origin` is `shipped`, `person` or `agent`."""

    path: Path
    origin: str


@dataclass(frozen=True)
class SkillFile:
    """One skill file as it was read. `sha` is the SHA-256 of exactly these bytes."""

    stem: str
    path: Path
    origin: str
    source: bytes
    sha: str


def is_skill_name(name: str) -> bool:
    return _NAME.fullmatch(name) is not None


def read_folders(folders: Sequence[Folder]) -> dict[str, list[SkillFile]]:
    """Every skill file by its stem; more than one of a stem is a clash."""
    found: dict[str, list[SkillFile]] = {}
    for folder in folders:
        for path in _skill_paths(folder.path):
            if (file := _read(path, folder.origin)) is not None:
                found.setdefault(file.stem, []).append(file)
    return found


def paths_in(folders: Sequence[Folder]) -> list[Path]:
    """Every skill file there is, unread."""
    return [path for folder in folders for path in _skill_paths(folder.path)]


def stamps(folders: Sequence[Path]) -> Stamps:
    """Changes whenever a skill file does, as far as can be told without reading any."""
    found = set()
    for folder in folders:
        for path in _skill_paths(folder):
            try:
                stat = path.stat()
            except OSError:
                continue
            found.add((str(path), stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns))
    return frozenset(found)


def _read(path: Path, origin: str) -> SkillFile | None:
    """None when it went away meanwhile or cannot be read."""
    try:
        source = path.read_bytes()
    except OSError:
        return None
    return SkillFile(path.stem, path, origin, source, hashlib.sha256(source).hexdigest())


def _skill_paths(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if is_skill_name(path.name) and path.is_file())
    except OSError:
        return []
