"""Hostile requests to hosts: each is refused, written down, and never arrives."""

from __future__ import annotations

import base64
import json
import socket
import threading
import time
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

import pytest

from core.settings import load_settings
from sidecar.broker.network.addresses import OwnAddress, own_addresses
from sidecar.broker.network.outbound import MOST_AT_ONCE
from skills.kit import Refused, Unavailable, http, secrets
from tests.support.databases import Store
from tests.support.http_servers import HttpServer, Request, Response, http_server
from tests.support.skill_world import RUN, SkillWorld, raw, skill_world

pytestmark = pytest.mark.long

SECRET = "hunter2-hunter2"


@pytest.fixture
def web() -> Iterator[HttpServer]:
    """One of our own processes: what must never hear from a skill."""
    with http_server() as ours:
        yield ours


@pytest.fixture
def world(store: Store, tmp_path: Path, web: HttpServer) -> Iterator[SkillWorld]:
    with skill_world(store, tmp_path / "h", own=[OwnAddress("127.0.0.1", web.port)]) as made:
        yield made


def whats(world: SkillWorld) -> list[str]:
    return [one.what for one in world.refused("bad")]


def test_a_host_that_is_not_declared_or_not_granted(world: SkillWorld) -> None:
    with http_server() as other:
        world.speak_as("bad", hosts=["metrics.example:9090"])
        with pytest.raises(Refused, match="not among the hosts"):
            http.get(other.url)
        world.speak_as("bad", hosts=[other.address], granted=["host:metrics.example:9090"])
        with pytest.raises(Refused, match="not been granted"):
            http.get(other.url)

    assert other.requests == []
    assert whats(world) == ["host", "host"]


def test_another_port_of_a_declared_host(world: SkillWorld) -> None:
    with http_server() as good, http_server() as other:
        world.speak_as("bad", hosts=[good.address])
        with pytest.raises(Refused, match=f"{other.port} is not among the hosts"):
            http.get(other.url)

    assert other.requests == []
    assert whats(world) == ["host"]


@pytest.mark.parametrize("target", ["{other}/x", "http://metrics.example/x", "//localhost:{port}/x"])
def test_a_redirect_to_another_host(world: SkillWorld, target: str) -> None:
    with http_server() as other:
        location = target.format(other=other.url, port=other.port)
        with http_server(lambda _: Response(302, b"", {"location": location})) as good:
            world.speak_as("bad", hosts=[good.address, other.address])
            with pytest.raises(Refused, match="redirects to"):
                http.get(good.url)

    assert len(good.requests) == 1
    assert other.requests == []
    assert whats(world) == ["host"]


def test_a_redirect_to_ourselves(world: SkillWorld, web: HttpServer) -> None:
    with http_server(lambda _: Response(307, b"", {"location": f"{web.url}/api/v1/cards/c1/answer"})) as good:
        world.speak_as("bad", hosts=[good.address, web.address])
        with pytest.raises(Refused, match="redirects to"):
            http.post(good.url, json={"option": "grant"})

    assert web.requests == []
    assert whats(world) == ["host"]


def test_a_redirect_without_end(world: SkillWorld) -> None:
    with http_server(lambda _: Response(302, b"", {"location": "/again"})) as good:
        world.speak_as("bad", hosts=[good.address])
        with pytest.raises(Refused, match="without end"):
            http.get(good.url)

    assert len(good.requests) == 6


@pytest.mark.parametrize(
    "url",
    [
        "http://{good}@{other}/",
        "http://user:pass@{good}/",
        "http://{good}%40{other}/",
        "http://{good}\\@{other}/",
        "http://{good}#@{other}/",
        "http://{good}.{other}/",
        "file:///etc/passwd",
        "gopher://{good}/",
        "http:///x",
        "http://[::1",
        "http://{good}\r\nHost: {other}/",
        "",
    ],
)
def test_tricks_with_an_address_reach_nobody_but_the_declared_host(world: SkillWorld, url: str) -> None:
    with http_server() as good, http_server() as other:
        world.speak_as("bad", hosts=[good.address])
        try:
            http.get(url.format(good=good.address, other=other.address))
        except (Refused, Unavailable):
            assert good.requests == []

    assert other.requests == []


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "localhost",
        "LOCALHOST.",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "127.0.0.2",
        "0.0.0.0",
        "0",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::]",
        "①②⑦.0.0.1",
        "127。0。0。1",
        "ⓛocalhost",
    ],
)
def test_our_own_processes_in_every_spelling_even_when_declared(world: SkillWorld, web: HttpServer, host: str) -> None:
    place = f"{host}:{web.port}"
    world.speak_as("bad", hosts=[place])

    with pytest.raises((Refused, Unavailable)):
        http.post(f"http://{place}/api/v1/cards/c1/answer", json={"option": "grant"}, headers={"X-Loopwright": "1"})

    assert web.requests == []


def test_faking_an_approval_is_written_down(world: SkillWorld, web: HttpServer) -> None:
    world.speak_as("bad", hosts=[web.address])

    with pytest.raises(Refused, match="a process of Loopwright itself"):
        http.post(f"{web.url}/api/v1/cards/c1/answer", json={"option": "grant"})

    assert web.requests == []
    assert whats(world) == ["host"]


def test_the_supervisor_tells_which_ports_are_ours(world: SkillWorld) -> None:
    with http_server() as worker:
        rows = {"items": [{"name": "worker", "pid": 1, "port": worker.port, "state": "running"}]}
        (world.home / "processes.json").write_text(json.dumps(rows))
        world.speak_as("bad", hosts=[worker.address])
        with pytest.raises(Refused, match="a process of Loopwright itself"):
            http.get(worker.url)

    assert worker.requests == []


def test_every_process_of_the_settings_is_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOOPWRIGHT_WEB_URL", "https://Agent.example")
    monkeypatch.setenv("LOOPWRIGHT_DATABASE_URL", "postgresql://u:p@db.example/loop")
    monkeypatch.setenv("INNGEST_BASE_URL", "http://engine.example:8288")

    own = set(own_addresses(load_settings(), "http://127.0.0.1:8003"))

    assert own == {
        OwnAddress("agent.example", 443),
        OwnAddress("db.example", 5432),
        OwnAddress("engine.example", 8288),
        OwnAddress("127.0.0.1", 8003),
    }


def test_an_address_of_the_local_link(world: SkillWorld) -> None:
    world.speak_as("bad", hosts=["169.254.169.254"])

    with pytest.raises(Refused, match="local link"):
        http.get("http://169.254.169.254/latest/meta-data")
    assert whats(world) == ["host"]


@pytest.mark.parametrize(
    "host",
    [
        "[fd00:ec2::254]",
        "[fd20:ce::254]",
        "100.100.100.200",
        "168.63.129.16",
        "192.0.0.192",
        "[64:ff9b::a9fe:a9fe]",
        "[2002:a9fe:a9fe::1]",
        "[::a9fe:a9fe]",
        "[::ffff:169.254.169.254]",
        "0xa9fea9fe",
    ],
)
def test_where_a_cloud_tells_a_machine_its_keys(world: SkillWorld, host: str) -> None:
    world.speak_as("bad", hosts=[host])

    with pytest.raises(Refused, match=r"local link|clouds give"):
        http.get(f"http://{host}/latest/meta-data")
    assert whats(world) == ["host"]


def test_a_secret_for_another_host_or_of_nobody(world: SkillWorld) -> None:
    world.secrets.set("TOKEN", SECRET)
    world.secrets.set("OTHER", SECRET)
    with http_server() as good, http_server() as other:
        world.speak_as("bad", hosts=[good.address, other.address], secrets={"TOKEN": good.address})
        for url, name in ((other.url, "TOKEN"), (good.url, "OTHER"), (good.url, "../session.key")):
            with pytest.raises(Refused):
                http.get(url, headers={"authorization": secrets[name]})
        with pytest.raises(Refused, match="only in headers"):
            http.get(f"{good.url}/?t={secrets['TOKEN']}")
        with pytest.raises(Refused, match="only in headers"):
            http.get(good.url, params={"t": str(secrets["TOKEN"])})

    assert good.requests == other.requests == []
    assert whats(world) == ["secret"] * 5
    assert SECRET not in repr(world.refused("bad"))


def test_a_secret_goes_in_the_open_only_to_a_port_that_a_person_saw(world: SkillWorld) -> None:
    world.secrets.set("TOKEN", SECRET)
    world.speak_as("bad", hosts=["bank.example"], secrets={"TOKEN": "bank.example"})

    with pytest.raises(Refused, match="over https only"):
        http.get("http://bank.example/", headers={"authorization": secrets["TOKEN"]})
    assert whats(world) == ["secret"]


def test_a_secret_in_what_is_posted_stays_a_name(world: SkillWorld) -> None:
    world.secrets.set("TOKEN", SECRET)
    with http_server() as good:
        world.speak_as("bad", hosts=[good.address], secrets={"TOKEN": good.address})
        http.post(good.url, json={"t": str(secrets["TOKEN"])})

    assert b"{{secret:TOKEN}}" in good.requests[0].body


def test_a_secret_that_comes_back_is_masked_however_it_looks(world: SkillWorld) -> None:
    value = 'p/w "quoted" +1'
    world.secrets.set("TOKEN", value)

    def echo(asked: Request) -> Response:
        sent = asked.headers["authorization"]
        body = [
            sent,
            json.dumps(sent),
            quote(sent),
            *(base64.b64encode(b"x" * n + sent.encode()).decode() for n in range(3)),
        ]
        return Response(body="\n".join(body).encode(), headers={"x-echo": sent})

    with http_server(echo) as good:
        world.speak_as("bad", hosts=[good.address], secrets={"TOKEN": good.address})
        answer = http.get(good.url, headers={"authorization": secrets["TOKEN"]})

    seen = answer.text + repr(answer.headers)
    assert answer.headers["x-echo"] == "{{secret:TOKEN}}"
    for line in answer.text.splitlines():
        assert "secret:TOKEN" in line or value not in base64.b64decode(line + "==", validate=False).decode("latin-1")
    assert value not in seen
    kept = "".join(file.read_text() for file in (world.home / "sidecar" / "recordings" / "bad").iterdir())
    assert value not in kept
    assert json.dumps(value)[1:-1] not in kept


def test_many_requests_at_once_go_out_a_few_at_a_time(world: SkillWorld) -> None:
    now, most, lock = 0, 0, threading.Lock()

    def respond(_: Request) -> Response:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        time.sleep(0.1)
        with lock:
            now -= 1
        return Response()

    with http_server(respond) as good:
        address = world.speak_as("bad", hosts=[good.address])

        def ask(n: int) -> int:
            with raw(address) as client:
                body = {"method": "GET", "url": f"{good.url}/{n}"}
                return client.post("/http", json=body, headers={"x-run-id": RUN}).status_code

        with ThreadPoolExecutor(12) as pool:
            assert set(pool.map(ask, range(12))) == {200}

    assert 1 < most <= MOST_AT_ONCE


def test_a_server_that_drips_is_cut_off(world: SkillWorld) -> None:
    with http_server(lambda _: Response(body=b"x" * 10_000), drip=0.05) as slow:
        world.speak_as("bad", hosts=[slow.address])
        began = time.monotonic()
        with pytest.raises(Unavailable, match="within 1 s"):
            http.get(slow.url, timeout=1)

    assert time.monotonic() - began < 10


def test_an_answer_that_is_too_large_or_swells(world: SkillWorld) -> None:
    bomb = zlib.compress(b"\0" * (64 * 1024 * 1024), 9)
    with (
        http_server(lambda _: Response(body=b"x" * (9 * 1024 * 1024))) as large,
        http_server(lambda _: Response(body=bomb, headers={"content-encoding": "deflate"})) as packed,
    ):
        world.speak_as("bad", hosts=[large.address, packed.address])
        for one in (large, packed):
            with pytest.raises(Refused, match="more than"):
                http.get(one.url)


@pytest.mark.parametrize("name", ["host", "Content-Length", "transfer-encoding", "Proxy-Authorization", "x y"])
def test_headers_that_are_not_the_skills_to_set(world: SkillWorld, name: str) -> None:
    with http_server() as good:
        world.speak_as("bad", hosts=[good.address])
        with pytest.raises(Refused, match="must not be set"):
            http.get(good.url, headers={name: "x"})

    assert good.requests == []


def test_a_header_with_a_line_of_its_own(world: SkillWorld) -> None:
    with http_server() as good:
        world.speak_as("bad", hosts=[good.address])
        with pytest.raises(Refused, match="a header cannot hold"):
            http.get(good.url, headers={"x-a": "1\r\nHost: other"})

    assert good.requests == []


def test_a_body_that_is_too_large(world: SkillWorld) -> None:
    with http_server() as good:
        address = world.speak_as("bad", hosts=[good.address])
        with pytest.raises(Refused, match="at most 1048576 bytes"):
            http.post(good.url, data=b"x" * (1024 * 1024 + 1))
        with pytest.raises(Refused, match="a request has at most"):
            http.post(good.url, data=b"x" * (4 * 1024 * 1024))
        with raw(address) as client:
            assert client.post("/http", content=iter([b"{}"])).status_code == 411

    assert good.requests == []
    assert whats(world) == ["limit", "limit"]


def test_headers_that_drip_and_servers_that_say_nothing_are_cut_off(world: SkillWorld) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        place = f"127.0.0.1:{listener.getsockname()[1]}"
        world.speak_as("bad", hosts=[place])
        over = threading.Event()

        def drip() -> None:
            connection, _ = listener.accept()
            with connection, suppress(OSError):
                for byte in b"HTTP/1.1 200 OK\r\nx-long: " + b"x" * 10_000:
                    connection.sendall(bytes([byte]))
                    if over.wait(0.05):
                        return

        thread = threading.Thread(target=drip, daemon=True)
        thread.start()
        for _ in ("drips", "silent"):
            with pytest.raises(Unavailable, match="within 1 s"):
                http.get(f"http://{place}/", timeout=1)
        over.set()
        thread.join(5)


@pytest.mark.parametrize("answer", [b"nonsense\r\n\r\n", b"", b"HTTP/1.1 200 OK\r\nx: " + b"y" * 200_000 + b"\r\n\r\n"])
def test_answers_that_are_no_http(world: SkillWorld, answer: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        place = f"127.0.0.1:{listener.getsockname()[1]}"
        world.speak_as("bad", hosts=[place])

        def talk() -> None:
            connection, _ = listener.accept()
            with connection, suppress(OSError):
                connection.recv(65536)
                connection.sendall(answer)

        thread = threading.Thread(target=talk, daemon=True)
        thread.start()
        with pytest.raises(Unavailable, match="could not be asked"):
            http.get(f"http://{place}/", timeout=5)
        thread.join(5)
