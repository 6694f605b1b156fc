"""Is everything that people put into the skill folders taken for a skill?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from app.doctor.finding import Finding, Verdict
from core.settings import Settings
from sidecar.watch.folders import is_skill_name
from skills.places import all_folders

_SUBJECT = "skill names"
_MOST_NAMED = 5


def look_at_skill_files(settings: Settings) -> Finding:
    """Editors leave names that are no skills' on purpose; what a person called like this waits for ever."""
    folders = all_folders(settings.home, settings.skill_path)
    missing = [
        str(folder) for folder in folders if not folder.is_dir() and settings.home.resolve() not in folder.parents
    ]
    if missing:
        return Finding(_SUBJECT, Verdict.NOTE, f"LOOPWRIGHT_SKILL_PATH names {missing[0]}, where no folder is")
    if odd := sorted(_odd(folders)):
        named = ", ".join(odd[:_MOST_NAMED]) + (f" and {len(odd) - _MOST_NAMED} more" if len(odd) > _MOST_NAMED else "")
        how = "name a skill with letters, digits, _ and -, a letter first, and end it in .py"
        return Finding(_SUBJECT, Verdict.NOTE, f"{named}: no skill is called like this; {how}")
    return Finding(_SUBJECT, Verdict.OK, "every Python file in the skill folders is named like a skill")


def _odd(folders: Iterable[Path]) -> Iterator[str]:
    for folder in folders:
        try:
            names = [path.name for path in folder.iterdir() if path.is_file()]
        except OSError:
            continue
        python = (name for name in names if name.lower().endswith(".py") and not name.startswith((".", "#", "__")))
        yield from (name for name in python if not is_skill_name(name))
