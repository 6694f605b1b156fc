"""A skill reaches nobody but the broker."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from sidecar.jail.isolation import Level
from tests.support.jail_children import JailChildren

pytestmark = pytest.mark.long


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    """Stands for engine, web and database: whatever listens on this machine."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        yield server


def test_no_host_can_be_reached(any_prison: JailChildren, listener: socket.socket) -> None:
    port = listener.getsockname()[1]
    body = f"""
import socket
reached = []
for host, port in [("127.0.0.1", {port}), ("localhost", {port}), ("169.254.169.254", 80), ("192.0.2.1", 80)]:
    try:
        socket.create_connection((host, port), timeout=1).close()
        reached.append(host)
    except OSError:
        pass
try:
    socket.getaddrinfo("metrics.example", 80)
    reached.append("dns")
except OSError:
    pass
try:
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("8.8.8.8", 53))
    reached.append("udp")
except OSError:
    pass
return reached
"""
    assert any_prison.output(body) == []
    with pytest.raises(TimeoutError):
        listener.accept()


def test_no_unix_socket_of_others_can_be_reached(walled: JailChildren, tmp_path: Path) -> None:
    named, hidden = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
    with named, hidden:
        named.bind(str(tmp_path / "other.sock"))
        hidden.bind("\0loopwright-test")
        for one in (named, hidden):
            one.listen(1)
        body = f"""
import socket
reached = []
for address in ({str(tmp_path / "other.sock")!r}, chr(0) + "loopwright-test"):
    try:
        socket.socket(socket.AF_UNIX).connect(address)
        reached.append(address)
    except OSError:
        pass
return reached
"""
        reached = walled.output(body)
    # With our own user id a child may talk to whom we may; the sockets without a name are fenced off.
    allowed = {str(tmp_path / "other.sock")} if walled.isolation.level is Level.LIMITS else set()
    assert set(reached) <= allowed


def test_no_inherited_descriptor_leads_out(any_prison: JailChildren) -> None:
    body = """
import os, stat
kinds = []
for fd in range(3, 100):
    try:
        mode = os.fstat(fd).st_mode
    except OSError:
        continue
    kinds.append("socket" if stat.S_ISSOCK(mode) else "pipe" if stat.S_ISFIFO(mode) else oct(mode))
return kinds
"""
    # The socket of this call, and the pipe on which the child told that it serves.
    assert sorted(any_prison.output(body)) in (["pipe", "socket"], ["pipe", "socket", "socket"])
