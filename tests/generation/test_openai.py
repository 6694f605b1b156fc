"""The OpenAI adapter against a server that speaks its protocol, and misbehaves."""

from __future__ import annotations

import base64
import gzip
import io
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import flask
import pytest
from PIL import Image
from pydantic import SecretStr

from app.supervision.ports import free_ports
from core.errors import UnclearError
from generation.orders.states import OrderState
from generation.providers.openai import MAX_ANSWER_BYTES, OpenAIProvider
from generation.providers.port import JobRequest
from tests.generation.world import GenerationWorld, world_of
from tests.support.databases import Store
from tests.support.wsgi import serving


def _png() -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", (64, 64), (10, 20, 60)).save(stream, "PNG")
    return stream.getvalue()


def _answer() -> dict[str, object]:
    return {"created": 1, "data": [{"b64_json": base64.b64encode(_png()).decode()}]}


def _slowly() -> Iterator[bytes]:
    """A whole answer, at a pace at which no single read takes long."""
    said = flask.json.dumps(_answer()).encode()
    for start in range(0, len(said), 4):
        yield said[start : start + 4]
        time.sleep(0.04)


def _at_length() -> Iterator[bytes]:
    """A whole answer, longer than any picture."""
    yield b'{"created": 1, "data": [{"b64_json": "'
    for _ in range(MAX_ANSWER_BYTES // (1 << 20) + 2):
        yield b"A" * (1 << 20)
    yield b'"}]}'


@dataclass
class Service:
    """Keep the idempotency key of each request; `trouble` decides the answer."""

    url: str = ""
    trouble: str = ""
    keys: list[str] = field(default_factory=list)


@pytest.fixture
def service() -> Iterator[Service]:
    service = Service()
    app = flask.Flask("openai")

    @app.post("/v1/images/generations")
    @app.post("/v1/images/edits")
    def images() -> flask.Response:
        service.keys.append(flask.request.headers.get("Idempotency-Key", ""))
        match service.trouble:
            case "drop":
                connection = flask.request.environ["werkzeug.socket"]
                connection.shutdown(socket.SHUT_RDWR)
            case "slow":
                time.sleep(1.5)
            case "500" | "429" | "400":
                return flask.Response('{"error": {"message": "no"}}', int(service.trouble), mimetype="application/json")
            case "drips":
                return flask.Response(_slowly(), mimetype="application/json")
            case "large":
                return flask.Response(_at_length(), mimetype="application/json")
            case "packed":
                packed = gzip.compress(flask.json.dumps(_answer()).encode())
                return flask.Response(packed, mimetype="application/json", headers={"Content-Encoding": "gzip"})
            case "html":
                return flask.Response("<p>One moment", mimetype="text/html")
        return flask.jsonify(_answer())

    @app.post("/v1/audio/speech")
    def speech() -> flask.Response:
        return flask.Response(_slowly() if service.trouble == "drips" else _at_length(), mimetype="audio/wav")

    with serving(app) as url:
        service.url = url
        yield service


@pytest.fixture
def world(store: Store, tmp_path: Path, service: Service) -> GenerationWorld:
    provider = OpenAIProvider(SecretStr("key"), base_url=f"{service.url}/v1", seconds=0.7)
    return world_of(store, tmp_path / "home", provider)


def test_a_picture_comes_with_the_answer_and_is_settled_at_its_quote(world: GenerationWorld, service: Service) -> None:
    task = world.task()
    order = world.order(task, world.turn(task), tool="generate_image")

    ended = world.follow(order)

    assert (ended.state, ended.charge) == (OrderState.SUCCEEDED, order.quote), ended.error
    assert service.keys == [order.key]


@pytest.mark.boundary(27)
@pytest.mark.parametrize("trouble", ["drop", "slow", "500", "html"])
def test_an_unclear_request_is_sent_once_and_ends_unresolved(
    world: GenerationWorld, service: Service, trouble: str
) -> None:
    service.trouble = trouble
    task = world.task()
    order = world.order(task, world.turn(task), tool="generate_image")

    ended = world.follow(order)
    service.trouble = ""
    world.submit(order)
    world.poll(order)

    assert world.get(order.id).state is ended.state is OrderState.UNRESOLVED
    assert service.keys == [order.key]
    assert ended.error


@pytest.mark.boundary(27)
@pytest.mark.parametrize("kind", ["image", "audio"])
@pytest.mark.parametrize(("trouble", "seconds"), [("drips", 0.7), ("large", 60.0), ("packed", 60.0)])
def test_an_answer_beyond_every_limit_is_given_up(service: Service, kind: str, trouble: str, seconds: float) -> None:
    service.trouble = trouble
    provider = OpenAIProvider(SecretStr("key"), base_url=f"{service.url}/v1", seconds=seconds)
    request = JobRequest("turn:1:0", kind, "m", {"prompt": "Waves"}, (), datetime(2026, 3, 1, tzinfo=UTC))
    with pytest.raises(UnclearError):
        provider.submit(request)


def test_a_refused_request_fails_and_gives_the_money_back(world: GenerationWorld, service: Service) -> None:
    service.trouble = "400"
    task = world.task()
    order = world.order(task, world.turn(task), tool="generate_image")

    assert world.follow(order).state is OrderState.FAILED
    assert world.reservation_states() == ["released"]


def test_a_busy_server_is_asked_again_later(world: GenerationWorld, service: Service) -> None:
    service.trouble = "429"
    task = world.task()
    order = world.order(task, world.turn(task), tool="generate_image")

    assert world.submit(order).state == OrderState.ORDERED
    service.trouble = ""

    assert world.follow(order).state is OrderState.SUCCEEDED
    assert len(service.keys) == 2


def test_a_server_that_is_not_there_was_asked_for_nothing(store: Store, tmp_path: Path) -> None:
    nowhere = OpenAIProvider(SecretStr("key"), base_url=f"http://127.0.0.1:{free_ports(1)[0]}/v1")
    world = world_of(store, tmp_path / "home", nowhere)
    task = world.task()
    order = world.order(task, world.turn(task), tool="generate_image")

    found = world.submit(order)

    assert (found.state, found.next) == (OrderState.ORDERED, "wait")
