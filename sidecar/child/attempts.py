"""Record what a skill attempts outside its work, as Python's audit hooks see it.

The record informs people and is no wall: the kernel does not report what it refuses, and code that bypasses Python, or
changes this object, is not seen.
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
"""A bounded list of bounded lines."""

_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_READABLE = ("/usr", "/lib", "/lib64", "/bin", "/proc/self", "/etc/localtime", "/dev/urandom", "/dev/random")
_CHANGES = ("remove", "rmdir", "mkdir", "rename", "link", "symlink", "chmod", "chown", "truncate")


class Attempts:
    """Notes attempts during the block `watching`, once it has begun to `listen`.

    `known` are files and folders that the process may read: its interpreter, its packages, its own source.
    """

    def __init__(self, known: Sequence[str]) -> None:
        paths = {*_READABLE, *mimetypes.knownfiles, sys.prefix, sys.base_prefix, *known, *filter(None, sys.path)}
        self._known = tuple({str(found) for place in paths for found in (place, os.path.realpath(place))})
        self._own_folder = ""
        self._noted: dict[str, None] = {}
        self._watching = False

    def listen(self) -> None:
        """Add the audit hook, which stays in this process and in those forked from it."""
        sys.addaudithook(self._audit)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Note attempts during the block, and forget earlier ones; files in the working directory are its own."""
        self._noted.clear()
        self._own_folder, self._watching = os.getcwd(), True
        try:
            yield
        finally:
            self._watching = False

    def noted(self) -> list[str]:
        """Return the first attempts, each once."""
        return list(self._noted)

    def _audit(self, event: str, args: tuple[Any, ...]) -> None:
        if not self._watching or event not in _WATCHED or len(self._noted) >= MOST_ATTEMPTS_NOTED:
            return
        self._watching = False
        try:
            if attempt := _WATCHED[event](self, args):
                self._noted["".join(sign if sign.isprintable() else "?" for sign in attempt[:LONGEST_ATTEMPT])] = None
        except (TypeError, ValueError, IndexError, OSError):
            # The call had odd arguments; Python raises an error for it itself.
            return
        finally:
            self._watching = True

    def _describe_open(self, args: tuple[Any, ...]) -> str:
        path, flags = self._path(args[0]), args[2]
        if isinstance(flags, int) and flags & _WRITES:
            return f"write to {path}" if self._is_foreign(path, ("/dev/null",)) else ""
        return f"read {path}" if self._is_foreign(path, ("/dev/null", *self._known)) else ""

    def _describe_listing(self, args: tuple[Any, ...]) -> str:
        path = self._path(args[0])
        return f"look into {path}" if self._is_foreign(path, self._known) else ""

    def _describe_change(self, args: tuple[Any, ...]) -> str:
        paths = [self._path(one) for one in args[:2] if isinstance(one, str | bytes)]
        return next((f"change {path}" for path in paths if self._is_foreign(path, ())), "")

    def _describe_connect(self, args: tuple[Any, ...]) -> str:
        address = args[1]
        if isinstance(address, tuple):
            return f"reach {_plain_word(address[0])}:{_plain_word(address[1])}"
        path = self._path(address)
        return f"reach {path}" if self._is_foreign(path, self._known) else ""

    def _path(self, path: Any) -> str:
        """Return an absolute path; empty for anything else, such as a descriptor."""
        if not isinstance(path, str | bytes):
            return ""
        return os.path.normpath(os.path.join(self._own_folder, os.fsdecode(path)))

    def _is_foreign(self, path: str, known: Sequence[str]) -> bool:
        paths = (self._own_folder, f"/proc/{os.getpid()}", *known)
        return path != "" and not any(path == place or path.startswith(f"{place.rstrip('/')}/") for place in paths)


def _describe_socket(_: Attempts, args: tuple[Any, ...]) -> str:
    family = int(args[1])
    return f"open a socket of the family {family}" if family not in (socket.AF_UNIX, -1) else ""


def _describe_kill(_: Attempts, args: tuple[Any, ...]) -> str:
    return f"send the signal {int(args[1])} to {int(args[0])}" if args[0] != os.getpid() else ""


def _describe_with(verb: str, at: int = 0) -> Callable[[Attempts, tuple[Any, ...]], str]:
    """Return a function that describes an event by the verb and the argument at this position."""
    return lambda _, args: f"{verb} {_plain_word(args[at])}"


def _plain_word(value: Any) -> str:
    """Return the text of a plain value. Other values are named by their type, since their text is the skill's code."""
    if type(value) is bytes:
        return value.decode("utf-8", "replace")
    return str(value) if type(value) in (str, int) else type(value).__name__


_WATCHED: dict[str, Callable[[Attempts, tuple[Any, ...]], str]] = {
    "open": Attempts._describe_open,
    "os.listdir": Attempts._describe_listing,
    "os.scandir": Attempts._describe_listing,
    **{f"os.{name}": Attempts._describe_change for name in _CHANGES},
    "socket.__new__": _describe_socket,
    "socket.connect": Attempts._describe_connect,
    "socket.bind": Attempts._describe_connect,
    "socket.sendto": Attempts._describe_connect,
    "socket.getaddrinfo": _describe_with("look up"),
    "socket.gethostbyname": _describe_with("look up"),
    "os.kill": _describe_kill,
    "os.killpg": _describe_kill,
    "os.fork": lambda _, args: "start a process",
    "os.forkpty": lambda _, args: "start a process",
    "os.exec": _describe_with("run"),
    "os.posix_spawn": _describe_with("run"),
    "os.system": _describe_with("run"),
    "subprocess.Popen": _describe_with("run"),
    "ctypes.dlopen": _describe_with("load the library"),
    "ctypes.dlsym": _describe_with("call the library's", 1),
    "resource.prlimit": _describe_with("limit the process"),
}
