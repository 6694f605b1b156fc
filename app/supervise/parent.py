"""Ends a process when its parent ends, however that one dies."""

from __future__ import annotations

import os
import threading

from core.process.parent_death import die_with_parent, load_prctl

__all__ = ["die_with_parent", "die_with_stdin", "load_prctl"]


def die_with_stdin() -> None:
    """Watch standard input in a thread and end this process at its end: the way for systems without prctl.

    The supervisor holds the only other end of that pipe, so its end is the supervisor's.
    """

    def watch() -> None:
        while os.read(0, 1024):
            pass
        os._exit(1)

    threading.Thread(target=watch, name="die-with-stdin", daemon=True).start()
