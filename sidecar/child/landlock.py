"""Landlock, Linux's fence around files and signals: any process may put it up around itself, and nobody takes it down.

Used where bubblewrap cannot be: what is not named can neither be read nor written, processes outside are neither traced
nor, on newer kernels, signalled.
"""

from __future__ import annotations

import ctypes
import os
import platform
import stat
import struct
import sys
from collections.abc import Iterable

# The numbers are the same on all machines.
_CREATE, _ADD, _RESTRICT = 444, 445, 446
_ASK_VERSION, _BENEATH = 1, 1
_O_PATH = getattr(os, "O_PATH", 0)
_EXECUTE, _WRITE, _READ, _LIST = 1, 2, 4, 8
_TRUNCATE, _DEVICE = 1 << 14, 1 << 15
# Everything that changes a file or a folder: what is written, made, removed, renamed or cut.
_CHANGES = _WRITE | sum(1 << bit for bit in range(4, 15))
_OF_FILES = _EXECUTE | _WRITE | _READ | _TRUNCATE | _DEVICE
_SCOPES = 3
SIGNALS_SINCE = 6
"""The version from which on signals are kept in, and sockets without a name."""


def landlock_version() -> int:
    """What this kernel knows of it; 0 for nothing."""
    if sys.platform != "linux" or platform.machine() not in {"x86_64", "aarch64"}:
        return 0
    libc = ctypes.CDLL(None, use_errno=True)
    return max(0, int(libc.syscall(_CREATE, None, ctypes.c_size_t(0), _ASK_VERSION)))


def fence_in(libc: ctypes.CDLL, readable: Iterable[str], writable: Iterable[str]) -> None:
    """This process, and all that come from it, reach only what is at or below these paths; raises OSError.

    What is `readable` may be run, too. Paths that are not there, or out of reach already, are skipped.
    """
    known = landlock_version()
    everything = (1 << (13 + (known >= 2) + (known >= 3) + (known >= 5))) - 1
    rules = struct.pack("=QQQ", everything, 0, _SCOPES if known >= SIGNALS_SINCE else 0)
    fence = _checked_result(libc.syscall(_CREATE, rules, ctypes.c_size_t(len(rules)), 0))
    try:
        for paths, access in ((readable, _EXECUTE | _READ | _LIST), (writable, everything)):
            for path in paths:
                _allow(libc, fence, path, access)
        _checked_result(libc.syscall(_RESTRICT, fence, 0))
    finally:
        os.close(fence)


def fence_changes(libc: ctypes.CDLL, folder: str) -> None:
    """This process, and all that come from it, change files only below `folder` and signal only each other.

    It may be within another fence already. Asked for where the version is at least SIGNALS_SINCE; raises OSError.
    """
    rules = struct.pack("=QQQ", _CHANGES, 0, _SCOPES)
    fence = _checked_result(libc.syscall(_CREATE, rules, ctypes.c_size_t(len(rules)), 0))
    try:
        _allow(libc, fence, folder, _CHANGES)
        _allow(libc, fence, os.devnull, _WRITE)
        _checked_result(libc.syscall(_RESTRICT, fence, 0))
    finally:
        os.close(fence)


def _allow(libc: ctypes.CDLL, fence: int, path: str, access: int) -> None:
    try:
        place = os.open(path, _O_PATH | os.O_CLOEXEC)
    except (FileNotFoundError, PermissionError):
        return
    try:
        allowed = access if stat.S_ISDIR(os.fstat(place).st_mode) else access & _OF_FILES
        _checked_result(libc.syscall(_ADD, fence, _BENEATH, struct.pack("=Qi", allowed, place), 0))
    finally:
        os.close(place)


def _checked_result(answer: int) -> int:
    if answer < 0:
        raise OSError(ctypes.get_errno(), "no fence can be put up")
    return int(answer)
