"""The agent's folder of skill files: which names are free there, and how a file is saved."""

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
"""Each is watched, and served by a process of its own."""


@dataclass(frozen=True)
class AgentSkillFolder:
    """The folders of this home, and what the settings say of the agent's changes.

    `patience_seconds` is how long a writer waits for the sidecar's word before it goes on without.
    """

    home: Path
    skill_path: str = ""
    edits_per_day: int = 5
    patience_seconds: float = 15.0

    @property
    def folder(self) -> Path:
        return agent_folder(self.home)

    def elsewhere(self) -> dict[str, Path]:
        """The files of shipped skills and of people's own folders, by their stems."""
        return find_skill_files((SHIPPED_FOLDER, *people_folders(self.home, self.skill_path)))

    def own(self) -> dict[str, Path]:
        return find_skill_files((self.folder,))

    def path(self, stem: str) -> Path:
        return self.folder / f"{stem}.py"

    def free_stem(self, name: str) -> str:
        """The name as a file's, with a number behind it where a file elsewhere has it; raises InvalidError."""
        taken = self.elsewhere()
        if name in self.own() and name not in taken:
            return name
        stem = re.sub(r"[^a-z0-9_-]+", "_", name.strip().lower()).strip("_-")
        if not _STEM.fullmatch(stem):
            raise InvalidError(f"{name[:80]!r} is no name of a skill: use letters, digits and _, a letter first")
        for number in range(1, _MOST_NAMES):
            one = stem if number == 1 else f"{stem[:60]}_{number}"
            if one not in taken:
                return one
        raise RefusedError(f"every name like {stem} is taken; choose another")

    def check_room(self, stem: str) -> None:
        """Raises RefusedError where this would be one skill too many; a new version of one that is there never is."""
        own = self.own()
        if stem not in own and len(own) >= MOST_FILES:
            raise RefusedError(
                f"you wrote {len(own)} skills that are still there, as many as may be: change one of them, or have one "
                "that nobody needs retired (retire_skill)"
            )

    def saved_sha(self, stem: str) -> str | None:
        """The SHA-256 of what the file holds; None when there is none."""
        try:
            return sha_of(self.path(stem).read_bytes())
        except FileNotFoundError:
            return None

    def of_people(self, name: str) -> Path | None:
        """A person's own file of this name."""
        return find_skill_files(people_folders(self.home, self.skill_path)).get(name)

    def is_shipped(self, name: str) -> bool:
        return name in find_skill_files((SHIPPED_FOLDER,))

    def write(self, stem: str, source: bytes) -> None:
        """Save one of the agent's files."""
        self.folder.mkdir(parents=True, exist_ok=True)
        save_file(self.path(stem), source)


def save_file(path: Path, source: bytes) -> None:
    """Save a file in one move: nobody ever reads half a file, and a power cut leaves the old or the new one."""
    unfinished = path.parent / f".{path.stem}.{sha_of(source)[:12]}.tmp"
    with unfinished.open("wb") as file:
        file.write(source)
        file.flush()
        os.fsync(file.fileno())
    if path.exists():
        shutil.copymode(path, unfinished)
    os.replace(unfinished, path)


def sha_of(source: bytes) -> str:
    return hashlib.sha256(source).hexdigest()


def require_home_workspace(workspace_id: str) -> None:
    """The agent's folder belongs to one workspace; raises RefusedError elsewhere."""
    if workspace_id != HOME_WORKSPACE:
        raise RefusedError("skills belong to the workspace of this home, and this is another")
