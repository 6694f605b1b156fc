"""The agent's folder of skill files: choose a free name, save a file."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from core.errors import InvalidError, RefusedError
from core.identity import HOME_WORKSPACE
from skills.folders import SHIPPED_FOLDER, agent_folder, find_skill_files, people_folders

_STEM = re.compile(r"[a-z][a-z0-9_-]{0,63}")
_MOST_NAMES = 50
MOST_FILES = 100
"""Skill files of the agent; each is watched and served by its own process."""


@dataclass(frozen=True)
class AgentSkillFolder:
    """The skill folders of a home, with the settings for the agent's changes.

    `patience_seconds` is how long a tool waits for the sidecar before it answers without its result.
    """

    home: Path
    skill_path: str = ""
    edits_per_day: int = 5
    patience_seconds: float = 15.0

    @property
    def folder(self) -> Path:
        """The agent's folder."""
        return agent_folder(self.home)

    def elsewhere(self) -> dict[str, Path]:
        """Map stems to the files of shipped skills and of people's folders."""
        return find_skill_files((SHIPPED_FOLDER, *people_folders(self.home, self.skill_path)))

    def own(self) -> dict[str, Path]:
        """Map stems to the agent's own files."""
        return find_skill_files((self.folder,))

    def path(self, stem: str) -> Path:
        """Return the path of the agent's file with this stem."""
        return self.folder / f"{stem}.py"

    def free_stem(self, name: str) -> str:
        """Return a free stem for a name, with a number appended if another folder uses it; raises InvalidError."""
        taken = self.elsewhere()
        if name in self.own() and name not in taken:
            return name
        stem = re.sub(r"[^a-z0-9_-]+", "_", name.strip().lower()).strip("_-")
        if not _STEM.fullmatch(stem):
            raise InvalidError(f"{name[:80]!r} is no valid name of a skill: use letters, digits and _, a letter first")
        for number in range(1, _MOST_NAMES):
            one = stem if number == 1 else f"{stem[:60]}_{number}"
            if one not in taken:
                return one
        raise RefusedError(f"every name like {stem} is taken; choose another")

    def check_room(self, stem: str) -> None:
        """Raise RefusedError if this new skill would be one too many; a new version of a skill is always allowed."""
        own = self.own()
        if stem not in own and len(own) >= MOST_FILES:
            raise RefusedError(
                f"you wrote {len(own)} skills that are still there, as many as may be: change one of them, or have one "
                "that nobody needs retired (retire_skill)"
            )

    def saved_sha(self, stem: str) -> str | None:
        """Return the SHA-256 of the file, None if it does not exist."""
        try:
            return sha_of(self.path(stem).read_bytes())
        except FileNotFoundError:
            return None

    def of_people(self, name: str) -> Path | None:
        """Return the path of a person's file of this name, None if there is none."""
        return find_skill_files(people_folders(self.home, self.skill_path)).get(name)

    def is_shipped(self, name: str) -> bool:
        """Return whether a shipped skill has this name."""
        return name in find_skill_files((SHIPPED_FOLDER,))

    def write(self, stem: str, source: bytes) -> None:
        """Save one of the agent's files."""
        self.folder.mkdir(parents=True, exist_ok=True)
        save_file(self.path(stem), source)


def save_file(path: Path, source: bytes) -> None:
    """Save a file atomically: readers and a power cut see the old or the new content, never a part."""
    unfinished = path.parent / f".{path.stem}.{sha_of(source)[:12]}.tmp"
    with unfinished.open("wb") as file:
        file.write(source)
        file.flush()
        os.fsync(file.fileno())
    if path.exists():
        shutil.copymode(path, unfinished)
    os.replace(unfinished, path)


def sha_of(source: bytes) -> str:
    """Return the SHA-256 of a source, in hex."""
    return hashlib.sha256(source).hexdigest()


def require_home_workspace(workspace_id: str) -> None:
    """Raise RefusedError for another workspace than the home's, which alone has skill files."""
    if workspace_id != HOME_WORKSPACE:
        raise RefusedError("skills belong to the workspace of this home, and this is another")
