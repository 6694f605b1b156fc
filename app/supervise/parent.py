"""Ends a process when its parent ends, however that one dies."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
from collections.abc import Callable

_PR_SET_PDEATHSIG = 1


def load_prctl() -> Callable[[int, int], int] | None:
    """Linux's prctl, or None elsewhere. Load it before a fork: between fork and exec nothing may be imported."""
    if sys.platform != "linux":
        return None
    prctl: Callable[[int, int], int] = ctypes.CDLL(None, use_errno=True).prctl
    return prctl


def die_with(parent: int, prctl: Callable[[int, int], int] | None) -> None:
    """Called in the child: have the system kill it when the thread that forked it ends."""
    if prctl is None:
        return
    prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    # The parent may have died before the line above: then nobody would tell.
    if os.getppid() != parent:
        os._exit(1)


def die_with_stdin() -> None:
    """Watch standard input in a thread and end this process at its end: the way for systems without prctl.

    The supervisor holds the only other end of that pipe, so its end is the supervisor's.
    """

    def watch() -> None:
        while os.read(0, 1024):
            pass
        os._exit(1)

    threading.Thread(target=watch, name="die-with-stdin", daemon=True).start()
