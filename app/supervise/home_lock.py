"""A home is used by one supervisor at a time."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from types import TracebackType

_FILE = "up.lock"


class HomeInUseError(RuntimeError):
    """Another `loopwright up` uses this home."""

    def __init__(self, home: Path) -> None:
        super().__init__(f"{home} is in use by another `loopwright up`; stop that one, or choose another --home")


class HomeLock:
    """Held from `with` to its end, and let go by the system when its holder dies, however it dies."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._handle = -1

    def __enter__(self) -> HomeLock:
        self._handle = os.open(self._home / _FILE, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._handle)
            raise HomeInUseError(self._home) from None
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._handle)


def is_in_use(home: Path) -> bool:
    """Does a living supervisor use this home?"""
    try:
        handle = os.open(home / _FILE, os.O_RDONLY)
    except (FileNotFoundError, NotADirectoryError):
        return False
    try:
        # A shared lock: two that only look do not get in each other's way.
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False
