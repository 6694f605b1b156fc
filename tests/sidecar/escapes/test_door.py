"""The broker's socket is a child's one way out, and nobody else's."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import ThreadingUnixStreamServer

import pytest

from sidecar.broker.identity import SkillIdentity
from sidecar.jail.isolation import Isolation
from tests.sidecar.escapes.conftest import LIMITS
from tests.support.jail_children import JailChildren, jailed

pytestmark = pytest.mark.long


class NamingBroker:
    """Answers each request with who is asking, for which run, and what was asked."""

    def __init__(self) -> None:
        self.servers: dict[Path, ThreadingUnixStreamServer] = {}

    def open(self, identity: SkillIdentity, address: Path) -> None:
        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
                told = {
                    "path": self.path,
                    "who": identity.skill_id,
                    "run": self.headers.get("x-run-id"),
                    "asked": asked,
                }
                body = json.dumps(told | {"ids": ["event-1"], "status": 200}).encode()
                self.send_response(200)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                del format, args

        server = ThreadingUnixStreamServer(str(address), Handler)
        server.daemon_threads = True
        self.servers[address] = server
        threading.Thread(target=server.serve_forever, args=[0.05], daemon=True).start()

    def admit(self, identity: SkillIdentity, address: Path) -> None:
        """It names everybody alike."""

    def close(self, address: Path) -> None:
        if (server := self.servers.pop(address, None)) is not None:
            server.shutdown()
            server.server_close()


@contextmanager
def prison_with_broker(folder: Path, isolation: Isolation) -> Iterator[tuple[JailChildren, NamingBroker]]:
    broker = NamingBroker()
    with jailed(folder, isolation, LIMITS, broker) as found:
        yield found, broker


@pytest.mark.parametrize("level", ["isolation", pytest.param("without_bubblewrap", marks=pytest.mark.load)])
def test_a_child_has_a_door_of_its_own(level: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    with prison_with_broker(tmp_path, request.getfixturevalue(level)) as (prison, broker):
        body = 'from skills.kit.door import door\nreturn door.ask("kit", "/say", {"a": 1})'
        told = prison.output(body)
        assert (told["path"], told["who"], told["run"], told["asked"]) == ("/say", "subject", "run-1", {"a": 1})

        sent = 'ctx.step.send_event("send", inngest.Event(name="a/b", data={"x": "é"}))'
        assert json.loads(prison.reply(sent).body)[0]["data"] == ["event-1"]

        (address,) = broker.servers
        folder = address.resolve().parent.parent
        others = [str(folder), *(str(folder / f"{number}/broker.sock") for number in range(1, 5))]
        body = f"""
import os, socket
from skills.kit.door import door
reached = []
for path in {others!r}:
    try:
        socket.socket(socket.AF_UNIX).connect(path)
        reached.append(path) if path != door._address else None
    except OSError:
        pass
try:
    os.unlink(door._address)
    reached.append("unlinked")
except OSError:
    pass
return reached
"""
        prison.boot(NEIGHBOUR, "neighbour")
        assert prison.output(body) == []


NEIGHBOUR = """
import inngest
from skills.kit import client

MANIFEST = {"title": "Neighbour", "purpose": "has a door too", "permissions": {"events": {"listen": ["a/b"]}}}

@client.create_function(fn_id="main", trigger=inngest.TriggerEvent(event="a/b"))
def main(ctx):
    return 1
"""
