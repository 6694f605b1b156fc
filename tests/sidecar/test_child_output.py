"""What one skill's process says, or how it falls silent, keeps nobody from being heard."""

from __future__ import annotations

import logging
import os
import socket
import struct

import pytest

from sidecar.pool.child_output import ChildOutput
from tests.support.waiting import until


def torn_off() -> socket.socket:
    """A connection that cannot be read: its other end was torn off."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        ours = socket.create_connection(server.getsockname())
        theirs, _ = server.accept()
        theirs.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        theirs.close()
    return ours


def test_one_that_cannot_be_read_is_forgotten(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    output, (heard, speaks) = ChildOutput(), os.pipe()
    with torn_off() as silent:
        try:
            output.add(1, silent.fileno())
            output.add(2, heard)
            output.name(2, "other")
            os.write(speaks, b"a word\n")
            until("the other one is heard", lambda: "skill other: a word" in caplog.text, 10)
        finally:
            output.remove(2)
            output.stop()
            os.close(heard)
            os.close(speaks)
