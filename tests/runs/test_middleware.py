"""The door in front of the functions: what is signed gets through, what is not is 401, and never 500."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import httpx
import inngest
import pytest

from app.processes.worker_app import create_worker_app
from core.clock import StoppedClock
from core.orchestrator.engine import Engine
from core.orchestrator.signature import SIGNATURE_HEADER, canonical_body, sign_body
from tests.support.wsgi import serving

KEY = "signkey-test-0123456789abcdef0123456789abcdef"
NOW = datetime(2026, 9, 1, 12, tzinfo=UTC)
PATH = "/api/inngest?fnId=door-echo&stepId=step"


@contextmanager
def worker(signing_key: str | None, fallback: str | None = None) -> Iterator[httpx.Client]:
    client = inngest.Inngest(
        app_id="door",
        is_production=signing_key is not None,
        signing_key=signing_key,
        event_key="e",
        api_base_url="http://127.0.0.1:1",
        event_api_base_url="http://127.0.0.1:1",
    )

    @client.create_function(fn_id="echo", trigger=inngest.TriggerEvent(event="door/echo"))
    def echo(ctx: inngest.ContextSync) -> object:
        return ctx.event.data.get("said")

    engine = Engine.at("http://127.0.0.1:1", signing_key)
    if signing_key and fallback:
        engine = replace(engine, signing_keys=(signing_key, fallback))
    app, _ = create_worker_app(client, [echo], engine, "http://127.0.0.1:9", StoppedClock(NOW))
    with serving(app) as url, httpx.Client(base_url=url) as http:
        yield http


def call(said: object) -> bytes:
    event = {"name": "door/echo", "data": {"said": said}, "id": "1", "ts": 1, "user": {}}
    return json.dumps(
        {
            "ctx": {
                "attempt": 0,
                "disable_immediate_execution": False,
                "fn_id": "f",
                "run_id": "r",
                "stack": {"current": 0, "stack": []},
                "use_api": False,
            },
            "event": event,
            "events": [event],
            "steps": {},
            "use_api": False,
            "version": 2,
        }
    ).encode()


def signed(body: bytes, at: datetime = NOW, key: str = KEY) -> dict[str, str]:
    return {SIGNATURE_HEADER: sign_body(key, canonical_body(body), at), "content-type": "application/json"}


@pytest.mark.case("B62")
@pytest.mark.parametrize("said", ["Curaçao & crème", "😀", "<b>&amp;", "\u202eabc", "", 1.5, None, ["a", {"b": 1}]])
def test_ordinary_text_verifies(said: object) -> None:
    body = call(said)
    with worker(KEY) as http:
        answer = http.post(PATH, content=body, headers=signed(body))
    assert (answer.status_code, answer.json()) == (200, said)


@pytest.mark.case("B62")
def test_escaped_and_raw_text_bear_the_same_signature() -> None:
    escaped = call("😀 é")
    raw = json.dumps(json.loads(escaped), ensure_ascii=False).encode()
    assert escaped != raw
    with worker(KEY) as http:
        for body in (escaped, raw):
            assert http.post(PATH, content=body, headers=signed(escaped)).json() == "😀 é"


@pytest.mark.case("B62")
@pytest.mark.parametrize("age", [timedelta(days=30), timedelta(seconds=301), timedelta(seconds=-301)])
def test_a_signature_of_another_time_is_refused(age: timedelta) -> None:
    body = call("x")
    with worker(KEY) as http:
        answer = http.post(PATH, content=body, headers=signed(body, NOW - age))
    assert answer.status_code == 401
    side = "before" if age > timedelta() else "after"
    assert f"signed {abs(age) // timedelta(seconds=1)} s {side} this machine's time" in answer.json()["message"]


@pytest.mark.case("B62")
def test_the_same_call_may_come_twice_within_five_minutes() -> None:
    body = call("x")
    with worker(KEY) as http:
        for _ in range(2):
            assert http.post(PATH, content=body, headers=signed(body, NOW - timedelta(seconds=299))).status_code == 200


@pytest.mark.case("B62")
@pytest.mark.parametrize(
    "header",
    [
        b"",
        b"t=1788264000",
        b"s=" + b"0" * 64,
        b"t=&s=",
        b"t=1788264000&s=\xff\xfe\xe9",
        "t=１&s=é".encode(),
        b"t=-1&s=0",
    ],
)
def test_a_malformed_signature_is_401_and_never_500(header: bytes) -> None:
    with worker(KEY) as http:
        for method in ("GET", "POST", "PUT"):
            request = http.build_request(method, PATH, content=call("x"))
            request.headers = httpx.Headers([*request.headers.raw, (SIGNATURE_HEADER.encode(), header)])
            assert http.send(request).status_code == 401


@pytest.mark.case("B62")
@pytest.mark.parametrize(
    "body", [b"\xff\xfe", b'{"a": NaN}', b'{"a": "\\ud83d"}', b"{", b"[" * 100_000, b'{"a": 1e999}']
)
def test_a_body_without_a_canonical_form_is_401(body: bytes) -> None:
    with worker(KEY) as http:
        headers = {SIGNATURE_HEADER: sign_body(KEY, body, NOW)}
        assert http.post(PATH, content=body, headers=headers).status_code == 401


@pytest.mark.case("B62")
def test_a_large_number_is_answered_without_500() -> None:
    body = call("n").replace(b'"n"', b"9007199254740993")
    with worker(KEY) as http:
        assert http.post(PATH, content=body, headers={SIGNATURE_HEADER: sign_body(KEY, body, NOW)}).status_code in {
            200,
            401,
        }


def test_answer_is_signed_with_the_key_of_the_call() -> None:
    body, fallback = call("x"), "cd" * 16
    with worker(KEY, fallback) as http:
        for key in (KEY, fallback):
            answer = http.post(PATH, content=body, headers=signed(body, key=key))
            assert (answer.status_code, answer.json()) == (200, "x")
            assert answer.headers[SIGNATURE_HEADER] == sign_body(key, answer.content, NOW)
            assert answer.headers["x-inngest-expected-server-kind"] == "cloud"


def test_nothing_but_a_signed_call_reaches_the_functions() -> None:
    body = call("x")
    with worker(KEY) as http:
        assert http.post(PATH, content=body).status_code == 401
        assert http.post(PATH, content=body, headers={"loopwright.callers_key": KEY}).status_code == 401
        assert http.post("/healthz", content=body, headers=signed(body)).status_code == 405
        assert http.post("/elsewhere?fnId=door-echo&stepId=step", content=body).status_code == 404


def test_another_key_is_refused() -> None:
    body = call("x")
    with worker(KEY) as http:
        assert http.post(PATH, content=body, headers=signed(body, key="ab" * 16)).status_code == 401


def test_without_keys_only_this_machine_and_no_page_may_call() -> None:
    body = call("x")
    with worker(None) as http:
        assert http.post(PATH, content=body).status_code == 200
        for host in ("127.0.0.1:1", "localhost", "[::1]:80", "0.0.0.0:8000"):
            assert http.post(PATH, content=body, headers={"host": host}).status_code == 200
        for host in ("evil.example", "127.0.0.1.evil.example", "192.168.0.1", "[::1", ""):
            assert http.post(PATH, content=body, headers={"host": host}).status_code == 403
        assert http.post(PATH, content=body, headers={"origin": "http://127.0.0.1"}).status_code == 403


def test_health_is_open_and_readiness_waits_for_the_engine() -> None:
    with worker(KEY) as http:
        assert http.get("/healthz").status_code == 200
        assert http.get("/readyz").status_code == 503
