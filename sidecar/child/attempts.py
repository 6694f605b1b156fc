"""Record what a skill tries beside its work, as Python's audit hooks see it.

This is a record for people and no wall: the kernel tells nobody what it refuses, and code that goes around Python, or
into this object, is not seen here.
"""

from __future__ import annotations

import mimetypes
import os
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any

from pydantic import Field

MOST_ATTEMPTS_NOTED, LONGEST_ATTEMPT = 20, 200
AttemptList = Annotated[list[Annotated[str, Field(max_length=LONGEST_ATTEMPT)]], Field(max_length=MOST_ATTEMPTS_NOTED)]
"""At most so many, each in a line of such a length."""

_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_PLACES = ("/usr", "/lib", "/lib64", "/bin", "/proc/self", "/etc/localtime", "/dev/urandom", "/dev/random")
_CHANGES = ("remove", "rmdir", "mkdir", "rename", "link", "symlink", "chmod", "chown", "truncate")


class Attempts:
    """Hears from `listen` on, and for good; notes what is tried while it is `watching`.

    `known` are files and folders that the skill's process may read: its interpreter, its packages, its own source.
    """

    def __init__(self, known: Sequence[str]) -> None:
        places = {*_PLACES, *mimetypes.knownfiles, sys.prefix, sys.base_prefix, *known, *filter(None, sys.path)}
        self._known = tuple({str(found) for place in places for found in (place, os.path.realpath(place))})
        self._own = ""
        self._told: dict[str, None] = {}
        self._watching = False

    def listen(self) -> None:
        """Cannot be undone, in this process and those that come from it."""
        sys.addaudithook(self._hear)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """What lies in the folder that this process works in is its own; what was told before is told no more."""
        self._told.clear()
        self._own, self._watching = os.getcwd(), True
        try:
            yield
        finally:
            self._watching = False

    def told(self) -> list[str]:
        """Each thing once, the first ones."""
        return list(self._told)

    def _hear(self, event: str, given: tuple[Any, ...]) -> None:
        if not self._watching or event not in _WATCHED or len(self._told) >= MOST_ATTEMPTS_NOTED:
            return
        self._watching = False
        try:
            if said := _WATCHED[event](self, given):
                self._told["".join(sign if sign.isprintable() else "?" for sign in said[:LONGEST_ATTEMPT])] = None
        except (TypeError, ValueError, IndexError, OSError):
            # Called with something odd: Python will say so to whoever did it.
            return
        finally:
            self._watching = True

    def _open(self, given: tuple[Any, ...]) -> str:
        path, flags = self._path(given[0]), given[2]
        if isinstance(flags, int) and flags & _WRITES:
            return f"write to {path}" if self._is_foreign(path, ("/dev/null",)) else ""
        return f"read {path}" if self._is_foreign(path, ("/dev/null", *self._known)) else ""

    def _look(self, given: tuple[Any, ...]) -> str:
        path = self._path(given[0])
        return f"look into {path}" if self._is_foreign(path, self._known) else ""

    def _change(self, given: tuple[Any, ...]) -> str:
        paths = [self._path(one) for one in given[:2] if isinstance(one, str | bytes)]
        return next((f"change {path}" for path in paths if self._is_foreign(path, ())), "")

    def _connect(self, given: tuple[Any, ...]) -> str:
        address = given[1]
        if isinstance(address, tuple):
            return f"reach {_plain_word(address[0])}:{_plain_word(address[1])}"
        path = self._path(address)
        return f"reach {path}" if self._is_foreign(path, self._known) else ""

    def _path(self, path: Any) -> str:
        """Empty for what is no path, such as a descriptor."""
        if not isinstance(path, str | bytes):
            return ""
        return os.path.normpath(os.path.join(self._own, os.fsdecode(path)))

    def _is_foreign(self, path: str, known: Sequence[str]) -> bool:
        places = (self._own, f"/proc/{os.getpid()}", *known)
        return path != "" and not any(path == place or path.startswith(f"{place.rstrip('/')}/") for place in places)


def _describe_socket(_: Attempts, given: tuple[Any, ...]) -> str:
    family = int(given[1])
    return f"open a socket of the family {family}" if family not in (socket.AF_UNIX, -1) else ""


def _describe_kill(_: Attempts, given: tuple[Any, ...]) -> str:
    return f"send the signal {int(given[1])} to {int(given[0])}" if given[0] != os.getpid() else ""


def _describe_with(verb: str, at: int = 0) -> Callable[[Attempts, tuple[Any, ...]], str]:
    return lambda _, given: f"{verb} {_plain_word(given[at])}"


def _plain_word(value: Any) -> str:
    """Of plain values only: another's way to say itself is his code."""
    if type(value) is bytes:
        return value.decode("utf-8", "replace")
    return str(value) if type(value) in (str, int) else type(value).__name__


_WATCHED: dict[str, Callable[[Attempts, tuple[Any, ...]], str]] = {
    "open": Attempts._open,
    "os.listdir": Attempts._look,
    "os.scandir": Attempts._look,
    **{f"os.{name}": Attempts._change for name in _CHANGES},
    "socket.__new__": _describe_socket,
    "socket.connect": Attempts._connect,
    "socket.bind": Attempts._connect,
    "socket.sendto": Attempts._connect,
    "socket.getaddrinfo": _describe_with("look up"),
    "socket.gethostbyname": _describe_with("look up"),
    "os.kill": _describe_kill,
    "os.killpg": _describe_kill,
    "os.fork": lambda _, given: "start a process",
    "os.forkpty": lambda _, given: "start a process",
    "os.exec": _describe_with("run"),
    "os.posix_spawn": _describe_with("run"),
    "os.system": _describe_with("run"),
    "subprocess.Popen": _describe_with("run"),
    "ctypes.dlopen": _describe_with("load the library"),
    "ctypes.dlsym": _describe_with("call the library's", 1),
    "resource.prlimit": _describe_with("limit the process"),
}
