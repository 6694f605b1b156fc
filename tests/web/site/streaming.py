"""A reader of the event stream on a bare socket, as slow and as broken as a test wants it."""

from __future__ import annotations

import itertools
import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tests.web.site.site import Site


@dataclass(frozen=True)
class Sent:
    """One event that arrived whole."""

    seq: int
    name: str
    data: dict[str, Any]


class Line:
    """One open stream. Nothing is read from the socket until `take` asks for events."""

    def __init__(self, site: Site, last_id: int | None, *, receive_buffer: int | None = None) -> None:
        self._socket = socket.socket()
        if receive_buffer is not None:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self._socket.settimeout(30)
        host, port = site.url.removeprefix("http://").split(":")
        self._socket.connect((host, int(port)))
        place = "" if last_id is None else f"Last-Event-ID: {last_id}\r\n"
        request = (
            f"GET /api/v1/events HTTP/1.1\r\nHost: {host}\r\n{place}Authorization: Bearer {site.token}\r\n"
            "Connection: close\r\n\r\n"
        )
        self._socket.sendall(request.encode())
        self._file = self._socket.makefile("rb")
        self.status = int(self._file.readline().split()[1])
        self.headers = {}
        while (line := self._file.readline().strip()) != b"":
            name, _, value = line.decode().partition(":")
            self.headers[name.lower()] = value.strip()
        self._body = self._unchunked() if self.headers.get("transfer-encoding") == "chunked" else iter(self._file)
        self.last_id = last_id
        self.comments = 0
        self._events = self.events()

    def take(self, count: int) -> list[Sent]:
        """The next `count` events; fewer when the stream ends first."""
        return list(itertools.islice(self._events, count))

    def events(self) -> Iterator[Sent]:
        fields: dict[str, str] = {}
        for raw in self._body:
            line = raw.decode().rstrip("\r\n")
            if line.startswith(":"):
                self.comments += 1
            elif line:
                name, _, value = line.partition(": ")
                fields[name] = value
            elif fields:
                if "id" in fields:
                    self.last_id = int(fields["id"])
                if "data" in fields:
                    yield Sent(int(fields["id"]), fields["event"], json.loads(fields["data"]))
                fields = {}

    def rest(self) -> bytes:
        return self._file.read()

    def close(self) -> None:
        self._file.close()
        self._socket.close()

    def _unchunked(self) -> Iterator[bytes]:
        pending = b""
        while size := int(self._file.readline().strip() or b"0", 16):
            pending += self._file.read(size)
            self._file.readline()
            *lines, pending = pending.split(b"\n")
            yield from (line + b"\n" for line in lines)


@contextmanager
def streaming(site: Site, last_id: int | None = None, *, receive_buffer: int | None = None) -> Iterator[Line]:
    line = Line(site, last_id, receive_buffer=receive_buffer)
    try:
        yield line
    finally:
        line.close()
