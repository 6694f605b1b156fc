"""Copy what children print to the log, line by line and within a limit."""

from __future__ import annotations

import logging
import os
import selectors
import socket
import threading
import time
from dataclasses import dataclass, field

_log = logging.getLogger(__name__)
_BYTES_A_MINUTE = 32 * 1024
_BYTES_A_LINE = 100
_MAX_LINE = 2000


@dataclass
class _OutputPipe:
    """A child's pipe. `rest` is an unfinished line; `counted` bytes are charged to the minute that began at `since`."""

    pid: int
    name: str = "spare"
    rest: bytes = b""
    since: float = field(default_factory=time.monotonic)
    counted: int = 0


class ChildOutput:
    """Reads the output of all children in one thread; each may print some ten thousand bytes a minute."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pipes: dict[int, _OutputPipe] = {}
        self._poll = selectors.DefaultSelector()
        self._wake_out, self._wake_in = socket.socketpair()
        self._poll.register(self._wake_out, selectors.EVENT_READ)
        self._thread = threading.Thread(target=self._copy_lines, name="child-output", daemon=True)
        self._stopped = False
        self._thread.start()

    def add(self, pid: int, fd: int) -> None:
        """Read from a child's pipe. The pipe stays the child's to close."""
        os.set_blocking(fd, False)
        with self._lock:
            self._pipes[fd] = _OutputPipe(pid)
            self._poll.register(fd, selectors.EVENT_READ)

    def name(self, pid: int, name: str) -> None:
        """Name the skill in a child's lines from now on."""
        with self._lock:
            for pipe in self._pipes.values():
                if pipe.pid == pid:
                    pipe.name = name

    def remove(self, pid: int) -> None:
        """Stop reading; called before the pipe is closed."""
        with self._lock:
            for fd in [fd for fd, pipe in self._pipes.items() if pipe.pid == pid]:
                self._drop(fd)

    def stop(self) -> None:
        """Stop reading from all children."""
        self._stopped = True
        self._wake_in.send(b"!")
        self._thread.join(5)
        self._poll.close()
        self._wake_out.close()
        self._wake_in.close()

    def _copy_lines(self) -> None:
        while not self._stopped:
            for key, _ in self._poll.select():
                with self._lock:
                    if key.fd in self._pipes:
                        self._read(key.fd, self._pipes[key.fd])

    def _read(self, fd: int, pipe: _OutputPipe) -> None:
        try:
            data = os.read(fd, 65536)
        except BlockingIOError:
            return
        except OSError:
            # This pipe is finished; the others are still read.
            data = b""
        if not data:
            self._drop(fd)
            return
        now = time.monotonic()
        if now - pipe.since > 60:
            pipe.since, pipe.counted = now, 0
        left = _BYTES_A_MINUTE - pipe.counted
        if left <= 0:
            return
        *lines, pipe.rest = (pipe.rest + data[:left]).split(b"\n")
        if len(pipe.rest) > _MAX_LINE:
            lines, pipe.rest = [*lines, pipe.rest], b""
        # A log line is longer than the printed line: its prefix counts too.
        kept = lines[: left // _BYTES_A_LINE]
        pipe.counted += len(data) + _BYTES_A_LINE * len(kept)
        for line in kept:
            _log.info("skill %s: %s", pipe.name, _printable(line))
        if len(kept) < len(lines) or pipe.counted >= _BYTES_A_MINUTE:
            pipe.counted, pipe.rest = _BYTES_A_MINUTE, b""
            _log.info("skill %s prints too much; its output of this minute is dropped", pipe.name)

    def _drop(self, fd: int) -> None:
        self._pipes.pop(fd)
        self._poll.unregister(fd)


def _printable(line: bytes) -> str:
    text = line[:_MAX_LINE].decode("utf-8", "replace")
    return "".join(sign if sign.isprintable() or sign == "\t" else "\ufffd" for sign in text)
