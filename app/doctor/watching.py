"""Is the sidecar told at once when a skill file is saved?"""

from __future__ import annotations

import tempfile
from pathlib import Path

from watchdog.events import FileSystemEventHandler

from app.doctor.finding import Finding, Verdict
from sidecar.watch.folder_events import FolderEvents

_SUBJECT = "skill files"


def look_at_watching(home: Path) -> Finding:
    """Has the system watch a folder, as the sidecar does: what it refuses us it refuses the sidecar."""
    folder = home.resolve() if home.is_dir() else Path(tempfile.gettempdir())
    trying = FolderEvents((folder,), FileSystemEventHandler())
    trying.renew()
    trying.stop()
    return judge_watching(trying.trouble)


def judge_watching(trouble: str) -> Finding:
    """`trouble` is what the system said; empty when it watches."""
    if not trouble:
        return Finding(_SUBJECT, Verdict.OK, "the system tells of each save at once")
    return Finding(
        _SUBJECT,
        Verdict.NOTE,
        f"the system tells of no save ({trouble}), so the folders are looked at every second: raise"
        " fs.inotify.max_user_instances and max_user_watches with sysctl",
    )
