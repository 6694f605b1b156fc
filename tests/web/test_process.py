"""The web process as it runs: gunicorn, started by our own command."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from app.bootstrap import ensure_home
from app.schema_upgrade import upgrade_schema
from core.settings import Settings
from tests.support.waiting import until

OURS = ("LOOPWRIGHT_", "INNGEST_", "OPENAI_")


@dataclass(frozen=True)
class Running:
    """`loopwright serve web`, a client of it, and what it logs."""

    process: subprocess.Popen[bytes]
    client: httpx.Client
    token: str
    log: Path


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """One process for the module; its last test ends it."""
    home, log = tmp_path_factory.mktemp("process") / "home", tmp_path_factory.mktemp("log") / "web.log"
    settings = Settings(home=home)
    upgrade_schema(settings)
    token = ensure_home(settings).token
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-P", "-m", "app.cli", "serve", "web", "--home", str(home), "--port", str(port)]
    env = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
    env |= {"LOOPWRIGHT_JOBS_URL": "http://127.0.0.1:9", "LOOPWRIGHT_JOBS_KEY": "unused"}
    with log.open("wb") as said:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=said, stderr=said, env=env)
    client = httpx.Client(
        base_url=f"http://127.0.0.1:{port}", headers={"Authorization": f"Bearer {token}"}, timeout=30, trust_env=False
    )

    def ready() -> bool:
        assert process.poll() is None, log.read_text()
        try:
            return client.get("/readyz").status_code == 200
        except httpx.TransportError:
            return False

    until("the web process", ready, 60)
    yield Running(process, client, token, log)
    client.close()
    process.kill()
    process.wait(10)


def test_the_token_is_in_no_log(running: Running) -> None:
    with httpx.Client(base_url=running.client.base_url, trust_env=False) as browser:
        assert browser.get("/", params={"token": running.token}).status_code == 303
        assert browser.get("/", params={"token": f"{running.token}x"}).status_code == 401

    assert running.token not in running.log.read_text()


def test_more_than_fits_is_answered_over_a_real_connection(running: Running) -> None:
    client = running.client

    answer = client.post("/api/v1/messages", json={"text": "x" * 3_000_000})
    chunked = client.post(
        "/api/v1/messages",
        content=(b"x" * 65536 for _ in range(40)),
        headers={"Content-Type": "application/json"},
    )

    assert (answer.status_code, chunked.status_code) == (413, 413)
    assert client.post("/api/v1/messages", json={"text": "still here"}).status_code == 202


@pytest.mark.load
def test_as_many_streams_as_fit_leave_room_for_requests(running: Running) -> None:
    # Given as many streams as the process takes
    client = running.client
    with ExitStack() as open_streams:
        streams = [open_streams.enter_context(client.stream("GET", "/api/v1/events")) for _ in range(40)]
        assert {answer.status_code for answer in streams} == {200}

        # When one more asks, and a message comes in
        refused = client.get("/api/v1/events")
        posted = client.post("/api/v1/messages", json={"text": "hello"})

        # Then it is told to come back, and everybody hears of the message
        assert (refused.status_code, refused.headers["Retry-After"]) == (503, "2")
        assert posted.status_code == 202
        for answer in streams:
            assert next(line for line in answer.iter_lines() if line.startswith("event:")) == "event: message.changed"

    # And once they have gone, there is room again
    def room() -> bool:
        with client.stream("GET", "/api/v1/events") as answer:
            return answer.status_code == 200

    until("room for a stream", room, 30)


def test_streams_end_and_the_process_leaves_when_it_is_told_to(running: Running) -> None:
    # Given three open streams that have seen a message
    client, process = running.client, running.process
    ended: list[str] = []
    with (
        client.stream("GET", "/api/v1/events") as one,
        client.stream("GET", "/api/v1/events") as two,
        client.stream("GET", "/api/v1/events") as three,
    ):
        posted = client.post("/api/v1/messages", json={"text": "hello"})
        assert posted.status_code == 202
        streams = [answer.iter_lines() for answer in (one, two, three)]
        for lines in streams:
            assert next(line for line in lines if line.startswith("event:")) == "event: message.changed"

        # When the process is told to stop
        process.send_signal(signal.SIGTERM)

        # Then every stream ends whole, long before its patience does
        for lines in streams:
            ended += list(lines)
    assert not any("reset" in line for line in ended)
    assert process.wait(20) == 0
