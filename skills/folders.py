"""Folders that hold skill files: the shipped folder, people's own folders, and the agent's folder."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

SHIPPED_FOLDER = Path(__file__).parent / "shipped"


def agent_folder(home: Path) -> Path:
    """Return the folder in which the agent writes skills."""
    return home.resolve() / "workspace" / "functions"


def people_folders(home: Path, skill_path: str) -> tuple[Path, ...]:
    """Return the folders of `LOOPWRIGHT_SKILL_PATH`, without duplicates, the shipped and the agent's folder."""
    named = (Path(part).expanduser().resolve() for part in skill_path.split(os.pathsep) if part.strip())
    others = {SHIPPED_FOLDER.resolve(), agent_folder(home).resolve()}
    return tuple(folder for folder in dict.fromkeys(named) if folder not in others)


def all_folders(home: Path, skill_path: str) -> tuple[Path, ...]:
    """Return the shipped folder, people's folders and the agent's, in this order of precedence."""
    return (SHIPPED_FOLDER, *people_folders(home, skill_path), agent_folder(home))


def find_skill_files(folders: Iterable[Path]) -> dict[str, Path]:
    """Map stems to the skill files in these folders; the first folder wins when a stem appears twice."""
    found: dict[str, Path] = {}
    for folder in folders:
        for path in sorted(folder.glob("*.py")) if folder.is_dir() else ():
            if not path.name.startswith((".", "_")):
                found.setdefault(path.stem, path)
    return found
