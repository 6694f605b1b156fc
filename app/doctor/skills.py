"""Findings about skills: their checks, isolation, file names, and the watch on their folders."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from watchdog.events import FileSystemEventHandler

from app.doctor.finding import Finding, Verdict
from core.settings import Settings
from sidecar.jail.isolation import Isolation, Level
from sidecar.jail.probe import probe_isolation
from sidecar.watch.folder_events import FolderEvents
from sidecar.watch.folders import is_skill_name
from skills.checks.gate import missing_programs
from skills.folders import all_folders

_CHECKS_SUBJECT = "skill checks"
_ISOLATION_SUBJECT = "skills"
_NAMES_SUBJECT = "skill names"
_WATCH_SUBJECT = "skill files"
_MOST_NAMED = 5


def look_at_checks() -> Finding:
    """Look for the programs that check skills."""
    return judge_checks(missing_programs())


def judge_checks(missing: Sequence[str]) -> Finding:
    """Judge missing programs. Without them files are still checked, but neither linted nor type-checked."""
    if not missing:
        return Finding(_CHECKS_SUBJECT, Verdict.OK, "syntax, permissions, lint (ruff) and types (ty)")
    words = f"{' and '.join(missing)} not found beside this Python or on the path: `make install` brings both"
    return Finding(_CHECKS_SUBJECT, Verdict.PROBLEM, words)


def look_at_jail() -> Finding:
    """Start a skill's process as the sidecar does, to see what works and not only what is installed."""
    return judge_isolation(probe_isolation(), root=os.geteuid() == 0)


def judge_isolation(isolation: Isolation, *, root: bool) -> Finding:
    """Judge the isolation: with `root`, mere limits are a problem."""
    words = f"isolated by {isolation.words}; a hostile skill could still {'; '.join(isolation.gaps)}"
    match isolation.level:
        case Level.BUBBLEWRAP:
            return Finding(_ISOLATION_SUBJECT, Verdict.OK, words)
        case Level.LIMITS if root and not isolation.fence:
            return Finding(
                _ISOLATION_SUBJECT,
                Verdict.PROBLEM,
                f"{words}, as root: install bubblewrap, or run Loopwright as a user",
            )
        case _:
            return Finding(
                _ISOLATION_SUBJECT, Verdict.NOTE, f"{words}: install bubblewrap where it is allowed to make namespaces"
            )


def look_at_skill_files(settings: Settings) -> Finding:
    """Look for Python files whose names keep them from being served as skills."""
    folders = all_folders(settings.home, settings.skill_path)
    missing = [
        str(folder) for folder in folders if not folder.is_dir() and settings.home.resolve() not in folder.parents
    ]
    if missing:
        return Finding(_NAMES_SUBJECT, Verdict.NOTE, f"LOOPWRIGHT_SKILL_PATH names {missing[0]}, where no folder is")
    if odd := sorted(_odd_names(folders)):
        named = ", ".join(odd[:_MOST_NAMED]) + (f" and {len(odd) - _MOST_NAMED} more" if len(odd) > _MOST_NAMED else "")
        how = "name a skill with letters, digits, _ and -, a letter first, and end it in .py"
        return Finding(_NAMES_SUBJECT, Verdict.NOTE, f"{named}: no skill is called like this; {how}")
    return Finding(_NAMES_SUBJECT, Verdict.OK, "every Python file in the skill folders is named like a skill")


def _odd_names(folders: Iterable[Path]) -> Iterator[str]:
    for folder in folders:
        try:
            names = [path.name for path in folder.iterdir() if path.is_file()]
        except OSError:
            continue
        python = (name for name in names if name.lower().endswith(".py") and not name.startswith((".", "#", "__")))
        yield from (name for name in python if not is_skill_name(name))


def look_at_watching(home: Path) -> Finding:
    """Watch a folder as the sidecar does, to see whether the system allows it."""
    folder = home.resolve() if home.is_dir() else Path(tempfile.gettempdir())
    events = FolderEvents((folder,), FileSystemEventHandler())
    events.renew()
    events.stop()
    return judge_watching(events.trouble)


def judge_watching(trouble: str) -> Finding:
    """Judge the watch. `trouble` is the system's error; empty if it watches."""
    if not trouble:
        return Finding(_WATCH_SUBJECT, Verdict.OK, "the system tells of each save at once")
    return Finding(
        _WATCH_SUBJECT,
        Verdict.NOTE,
        f"the system tells of no save ({trouble}), so the folders are looked at every second: raise"
        " fs.inotify.max_user_instances and max_user_watches with sysctl",
    )
