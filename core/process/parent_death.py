"""Parent death: end a process when its parent ends for any reason. Linux only; elsewhere nothing happens."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Callable

_PR_SET_PDEATHSIG = 1


def load_prctl() -> Callable[[int, int], int] | None:
    """Load Linux's prctl, or None elsewhere; call it before a fork, since nothing may be imported after it."""
    if sys.platform != "linux":
        return None
    prctl: Callable[[int, int], int] = ctypes.CDLL(None, use_errno=True).prctl
    return prctl


def die_with_parent(parent: int, prctl: Callable[[int, int], int] | None) -> None:
    """Make the system kill this process when the thread that started it ends; call it in the child."""
    if prctl is None:
        return
    prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    # A parent that died before the line above causes no signal.
    if os.getppid() != parent:
        os._exit(1)
