"""A line that has no room for a connection goes on when there is."""

from __future__ import annotations

import errno
import socket
from pathlib import Path
from typing import Any

import httpx

from sidecar.broker.wire import BrokerSocket, WireAnswer


class Crowded(socket.socket):
    """A socket of a process that has too many open files, at first."""

    refusals = 1

    def accept(self) -> tuple[socket.socket, Any]:
        if self.refusals:
            self.refusals -= 1
            raise OSError(errno.EMFILE, "too many open files")
        return super().accept()


def test_a_line_outlives_a_moment_with_too_many_open_files(tmp_path: Path) -> None:
    address = tmp_path / "s"
    listener = Crowded(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(address))
    listener.listen(4)
    line = BrokerSocket(listener, "crowded", lambda request: WireAnswer(200, request.path.encode()))
    try:
        with httpx.Client(transport=httpx.HTTPTransport(uds=str(address))) as client:
            assert client.post("http://broker/asked", content=b"{}", timeout=30).text == "/asked"
    finally:
        line.close()
