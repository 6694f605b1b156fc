"""The processes below this one."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Container
from pathlib import Path

_ROUNDS = 400


def children() -> set[int]:
    """Those whose parent this process is, orphans that became ours included."""
    try:
        told = [task.joinpath("children").read_text() for task in Path("/proc/self/task").iterdir()]
    except OSError:
        return _children_by_looking()
    return {int(pid) for text in told for pid in text.split()}


def kill_children(but: Container[int]) -> bool:
    """End all except those in `but`; False when they multiply faster than they can be ended.

    What they leave behind becomes ours and ends too.
    """
    for _ in range(_ROUNDS):
        strangers = [pid for pid in children() if pid not in but]
        if not strangers:
            return True
        for pid in strangers:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        for pid in strangers:
            with contextlib.suppress(OSError):
                os.waitpid(pid, os.WNOHANG)
        time.sleep(0.001)
    return False


def _children_by_looking() -> set[int]:
    own, found = str(os.getpid()), set()
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if folder.joinpath("stat").read_text().rpartition(")")[2].split()[1] == own:
                found.add(int(folder.name))
    return found
