"""Copy what children print to our log, line by line and within a limit."""

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
    pid: int
    name: str = "spare"
    rest: bytes = b""
    since: float = field(default_factory=time.monotonic)
    said: int = 0


class ChildOutput:
    """One thread listens to all. Of each child some tens of thousand bytes a minute are kept, the rest is dropped."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._voices: dict[int, _OutputPipe] = {}
        self._poll = selectors.DefaultSelector()
        self._bell, self._ring = socket.socketpair()
        self._poll.register(self._bell, selectors.EVENT_READ)
        self._thread = threading.Thread(target=self._listen, name="voices", daemon=True)
        self._stopped = False
        self._thread.start()

    def hear(self, pid: int, fd: int) -> None:
        """Listen to a child's pipe, which stays the child's to close."""
        os.set_blocking(fd, False)
        with self._lock:
            self._voices[fd] = _OutputPipe(pid)
            self._poll.register(fd, selectors.EVENT_READ)

    def name(self, pid: int, name: str) -> None:
        with self._lock:
            for voice in self._voices.values():
                if voice.pid == pid:
                    voice.name = name

    def leave(self, pid: int) -> None:
        """Called before the pipe is closed."""
        with self._lock:
            for fd in [fd for fd, voice in self._voices.items() if voice.pid == pid]:
                self._forget(fd)

    def stop(self) -> None:
        self._stopped = True
        self._ring.send(b"!")
        self._thread.join(5)
        self._poll.close()
        self._bell.close()
        self._ring.close()

    def _listen(self) -> None:
        while not self._stopped:
            for key, _ in self._poll.select():
                with self._lock:
                    if key.fd in self._voices:
                        self._read(key.fd, self._voices[key.fd])

    def _read(self, fd: int, voice: _OutputPipe) -> None:
        try:
            told = os.read(fd, 65536)
        except BlockingIOError:
            return
        except OSError:
            # Nothing more comes from there; what others say is heard all the same.
            told = b""
        if not told:
            self._forget(fd)
            return
        now = time.monotonic()
        if now - voice.since > 60:
            voice.since, voice.said = now, 0
        left = _BYTES_A_MINUTE - voice.said
        if left <= 0:
            return
        *lines, voice.rest = (voice.rest + told[:left]).split(b"\n")
        if len(voice.rest) > _MAX_LINE:
            lines, voice.rest = [*lines, voice.rest], b""
        # What is written down of a line is longer than what was said in it.
        kept = lines[: left // _BYTES_A_LINE]
        voice.said += len(told) + _BYTES_A_LINE * len(kept)
        for line in kept:
            _log.info("skill %s: %s", voice.name, _printable(line))
        if len(kept) < len(lines) or voice.said >= _BYTES_A_MINUTE:
            voice.said, voice.rest = _BYTES_A_MINUTE, b""
            _log.info("skill %s: says too much; the rest of this minute is dropped", voice.name)

    def _forget(self, fd: int) -> None:
        self._voices.pop(fd)
        self._poll.unregister(fd)


def _printable(line: bytes) -> str:
    text = line[:_MAX_LINE].decode("utf-8", "replace")
    return "".join(sign if sign.isprintable() or sign == "\t" else "\ufffd" for sign in text)
