"""End a process when its parent ends, however the parent dies. Linux only; elsewhere nothing happens."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Callable

_PR_SET_PDEATHSIG = 1


def load_prctl() -> Callable[[int, int], int] | None:
    """Linux's prctl, or None elsewhere. Load it before a fork: between fork and exec nothing may be imported."""
    if sys.platform != "linux":
        return None
    prctl: Callable[[int, int], int] = ctypes.CDLL(None, use_errno=True).prctl
    return prctl


def die_with_parent(parent: int, prctl: Callable[[int, int], int] | None) -> None:
    """Called in the child: have the system kill it when the thread that started it ends."""
    if prctl is None:
        return
    prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    # The parent may have died before the line above: then nobody would tell.
    if os.getppid() != parent:
        os._exit(1)
