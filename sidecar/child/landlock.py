"""Landlock, Linux's fence around files and signals, which a process puts up around itself and cannot take down.

Used where bubblewrap is not available: paths that are not named can neither be read nor written, processes outside can
neither be traced nor, on newer kernels, signalled.
"""

from __future__ import annotations

import ctypes
import os
import platform
import stat
import struct
import sys
from collections.abc import Iterable

# System call numbers, which are the same on all machines.
_CREATE, _ADD, _RESTRICT = 444, 445, 446
_ASK_VERSION, _BENEATH = 1, 1
_O_PATH = getattr(os, "O_PATH", 0)
_EXECUTE, _WRITE, _READ, _LIST = 1, 2, 4, 8
_TRUNCATE, _DEVICE = 1 << 14, 1 << 15
# All access that changes a file or folder: write, create, remove, rename, truncate.
_CHANGES = _WRITE | sum(1 << bit for bit in range(4, 15))
_OF_FILES = _EXECUTE | _WRITE | _READ | _TRUNCATE | _DEVICE
# Keep connections to abstract unix sockets (1) and signals (2) inside the fence.
_SCOPES = 3
SIGNALS_SINCE = 6
"""The version since which signals, and unix sockets that are no files, are kept inside the fence."""


def landlock_version() -> int:
    """Return the version that this kernel supports; 0 for none."""
    if sys.platform != "linux" or platform.machine() not in {"x86_64", "aarch64"}:
        return 0
    libc = ctypes.CDLL(None, use_errno=True)
    return max(0, int(libc.syscall(_CREATE, None, ctypes.c_size_t(0), _ASK_VERSION)))


def fence_in(libc: ctypes.CDLL, readable: Iterable[str], writable: Iterable[str]) -> None:
    """Restrict this process and its descendants to what is at or below these paths; raises OSError.

    What is `readable` may also be executed. Paths that do not exist or cannot be reached are skipped.
    """
    known = landlock_version()
    # Version 1 knows 13 kinds of access; versions 2, 3 and 5 added one each.
    everything = (1 << (13 + (known >= 2) + (known >= 3) + (known >= 5))) - 1
    rules = struct.pack("=QQQ", everything, 0, _SCOPES if known >= SIGNALS_SINCE else 0)
    fence = _check_result(libc.syscall(_CREATE, rules, ctypes.c_size_t(len(rules)), 0))
    try:
        for paths, access in ((readable, _EXECUTE | _READ | _LIST), (writable, everything)):
            for path in paths:
                _allow(libc, fence, path, access)
        _check_result(libc.syscall(_RESTRICT, fence, 0))
    finally:
        os.close(fence)


def fence_changes(libc: ctypes.CDLL, folder: str) -> None:
    """Restrict this process and its descendants to changing files below `folder` and signalling each other.

    It may be inside another fence. Needs version SIGNALS_SINCE; raises OSError.
    """
    rules = struct.pack("=QQQ", _CHANGES, 0, _SCOPES)
    fence = _check_result(libc.syscall(_CREATE, rules, ctypes.c_size_t(len(rules)), 0))
    try:
        _allow(libc, fence, folder, _CHANGES)
        _allow(libc, fence, os.devnull, _WRITE)
        _check_result(libc.syscall(_RESTRICT, fence, 0))
    finally:
        os.close(fence)


def _allow(libc: ctypes.CDLL, fence: int, path: str, access: int) -> None:
    try:
        descriptor = os.open(path, _O_PATH | os.O_CLOEXEC)
    except (FileNotFoundError, PermissionError):
        return
    try:
        allowed = access if stat.S_ISDIR(os.fstat(descriptor).st_mode) else access & _OF_FILES
        _check_result(libc.syscall(_ADD, fence, _BENEATH, struct.pack("=Qi", allowed, descriptor), 0))
    finally:
        os.close(descriptor)


def _check_result(answer: int) -> int:
    if answer < 0:
        raise OSError(ctypes.get_errno(), "the Landlock fence cannot be set up")
    return int(answer)
