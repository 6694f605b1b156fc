"""The jobs adapter against services that answer badly: what certainly started nothing, and what nobody can know."""

from __future__ import annotations

import hashlib
import hmac
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import flask
import pytest
from pydantic import SecretStr

from app.supervision.ports import free_ports
from core.errors import LoopwrightError, RefusedError, UnavailableError, UnclearError
from generation.providers.jobs import JobsProvider
from generation.providers.port import JobInput, JobLostError, JobOutput, JobRequest, JobState, NotAcceptedError
from tests.support.wsgi import serving

REQUEST = JobRequest("turn:1:0", "image", "m", {"prompt": "x"}, (), datetime(2026, 3, 1, tzinfo=UTC))


@contextmanager
def service(status: int = 200, body: bytes = b"{}", headers: dict[str, str] | None = None) -> Iterator[str]:
    """Answers everything the same way."""
    app = flask.Flask("service")

    @app.route("/", defaults={"path": ""}, methods=["GET", "POST"])
    @app.route("/<path:path>", methods=["GET", "POST"])
    def answer(path: str) -> flask.Response:
        return flask.Response(body, status, headers or {}, mimetype="application/json")

    with serving(app) as url:
        yield url


@contextmanager
def raw_service(talk: bytes, pause: float = 0) -> Iterator[str]:
    """Accepts connections, reads a little, says `talk` byte by byte and hangs up."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                connection.recv(65536)
                try:
                    for byte in talk:
                        connection.sendall(bytes([byte]))
                        time.sleep(pause)
                except OSError:
                    continue

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        listener.close()


def provider(url: str, seconds: float = 1.0) -> JobsProvider:
    return JobsProvider("jobs", url, SecretStr("k"), submit_seconds=seconds, ask_seconds=seconds)


@pytest.mark.boundary(27)
@pytest.mark.parametrize(
    ("status", "headers", "error"),
    [
        (429, {}, NotAcceptedError),
        (429, {"Retry-After": "7"}, NotAcceptedError),
        (503, {"Retry-After": "7"}, NotAcceptedError),
        (503, {}, UnclearError),
        (500, {}, UnclearError),
        (502, {}, UnclearError),
        (504, {"Retry-After": "soon"}, UnclearError),
        (408, {}, UnclearError),
        (409, {}, UnclearError),
        (400, {}, RefusedError),
        (401, {}, RefusedError),
        (413, {}, RefusedError),
        (422, {}, RefusedError),
        (302, {"Location": "http://127.0.0.1:1/"}, RefusedError),
        (202, {}, UnclearError),
    ],
)
def test_each_answer_to_a_submission_has_its_outcome(
    status: int, headers: dict[str, str], error: type[LoopwrightError]
) -> None:
    with service(status, b'{"detail": "because"}', headers) as url, pytest.raises(error) as caught:
        provider(url).submit(REQUEST)
    if isinstance(caught.value, NotAcceptedError) and "Retry-After" in headers:
        assert caught.value.wait is not None
        assert caught.value.wait.total_seconds() == 7


@pytest.mark.boundary(27)
def test_a_service_that_cannot_be_reached_started_nothing() -> None:
    with pytest.raises(NotAcceptedError):
        provider(f"http://127.0.0.1:{free_ports(1)[0]}").submit(REQUEST)


@pytest.mark.boundary(27)
@pytest.mark.parametrize(
    ("talk", "pause"),
    [
        (b"", 0.0),
        (b"HTTP/1.1 202 ACC", 0.0),
        (b"HTTP/1.1 202 OK\r\n\r\n" + b" " * 400, 0.03),
        (b"garbage\r\n\r\n", 0.0),
    ],
    ids=["hangs up", "cut", "drips", "garbage"],
)
def test_a_connection_that_breaks_leaves_the_submission_unclear(talk: bytes, pause: float) -> None:
    with raw_service(talk, pause) as url, pytest.raises(UnclearError):
        provider(url).submit(REQUEST)


JOB = b'{"id": "job_1", "state": "running"}'
HEADERS = b"\r\n".join((b"X-Slow: " + b"a" * 100, b"Connection: close", b"Content-Length: %d" % len(JOB)))
WHOLE = b"HTTP/1.1 200 OK\r\n" + HEADERS + b"\r\n\r\n" + JOB


@pytest.mark.case("B45")
def test_an_answer_whose_headers_drip_is_given_up() -> None:
    with raw_service(WHOLE) as url:
        assert provider(url).status("job_1").state is JobState.RUNNING
    with raw_service(WHOLE, 0.02) as url:
        slow = provider(url)
        with pytest.raises(UnavailableError):
            slow.status("job_1")
        with pytest.raises(UnclearError):
            slow.submit(REQUEST)


def test_an_output_that_drips_may_be_fetched_again() -> None:
    with raw_service(WHOLE, 0.02) as url:
        slow = JobsProvider("jobs", url, SecretStr("k"), ask_seconds=1.0, fetch_seconds=1.0)
        with pytest.raises(UnavailableError):
            slow.fetch(JobOutput("image/png", f"{url}/o"), 2000)


@pytest.mark.case("B45")
@pytest.mark.parametrize(
    "body",
    [
        b"<html>",
        b"[]",
        b"{}",
        b'{"error": {"message": "upstream exploded"}}',
        b'{"id": "other", "state": "succeeded"}',
        b'{"id": "job_1", "state": "succeeded", "progress": NaN}',
        b" " * (2 << 20),
        b"[" * 9000,
    ],
    ids=range(8),
)
def test_a_status_that_is_no_job_of_ours_is_an_error(body: bytes) -> None:
    with service(200, body) as url, pytest.raises(UnavailableError):
        provider(url).status("job_1")


@pytest.mark.case("B45")
def test_an_unknown_state_stays_unknown() -> None:
    with service(200, b'{"id": "job_1", "state": "REVIEWING", "progress": 7}') as url:
        news = provider(url).status("job_1")
    assert (news.state, news.progress) == (JobState.UNKNOWN, 1.0)
    assert "REVIEWING" in news.error


@pytest.mark.case("B45")
def test_a_job_that_the_provider_does_not_know_is_lost() -> None:
    with service(404) as url:
        with pytest.raises(JobLostError):
            provider(url).status("job_1")
        assert provider(url).look_up("turn:1:0") is None


def test_outputs_are_bounded_and_never_redirected() -> None:
    with service(200, b"x" * 2000) as url:
        assert len(provider(url).fetch(JobOutput("image/png", f"{url}/o"), 2000)) == 2000
        with pytest.raises(RefusedError, match="longer"):
            provider(url).fetch(JobOutput("image/png", f"{url}/o"), 1999)
    with service(302, b"", {"Location": "http://169.254.169.254/"}) as url, pytest.raises(RefusedError, match="302"):
        provider(url).fetch(JobOutput("image/png", f"{url}/o"), 2000)
    with service(503) as url, pytest.raises(UnavailableError):
        provider(url).fetch(JobOutput("image/png", f"{url}/o"), 2000)


def test_the_key_goes_to_the_service_only_and_the_bytes_as_data() -> None:
    app = flask.Flask("service")
    seen: list[tuple[str, str, object]] = []

    @app.post("/jobs")
    def submit() -> flask.Response:
        headers = flask.request.headers
        seen.append((headers["Idempotency-Key"], headers["Authorization"], flask.request.get_json()))
        return flask.Response('{"id": "job_1", "state": "queued"}', 202, mimetype="application/json")

    picture = JobInput("source", "image/png", "ab" * 32, b"bytes")
    request = JobRequest("turn:1:0", "image", "m", {"prompt": "x"}, (picture,), REQUEST.inputs_until)
    with serving(app) as url:
        jobs = JobsProvider("jobs", url, SecretStr("k"), callback_url="http://web/callbacks/jobs")
        assert jobs.submit(request).upstream_id == "job_1"
        signed = JobsProvider("jobs", url, SecretStr("k"), address=lambda sha256, until: f"http://web/{sha256[:2]}")
        signed.submit(request)

    key, authorization, body = seen[0]
    assert (key, authorization) == ("turn:1:0", "Bearer k")
    shown = {"role": "source", "media_type": "image/png", "sha256": "ab" * 32}
    expected = {"kind": "image", "model": "m", "params": {"prompt": "x"}, "inputs": [{**shown, "data": "Ynl0ZXM="}]}
    assert body == {**expected, "callback_url": "http://web/callbacks/jobs"}
    assert seen[1][2] == {**expected, "inputs": [{**shown, "url": "http://web/ab"}]}


def test_without_a_key_no_callback_is_believed_or_asked_for() -> None:
    keyless = JobsProvider("jobs", "http://127.0.0.1:1", SecretStr(""), callback_url="http://us.example/callbacks")
    now = datetime(2026, 3, 1, tzinfo=UTC)
    sent = str(int(now.timestamp()))
    signed = hmac.new(b"", sent.encode() + b"." + JOB, hashlib.sha256).hexdigest()
    with pytest.raises(RefusedError, match="LOOPWRIGHT_JOBS_KEY"):
        keyless.verify_callback({"X-Jobs-Signature": f"t={sent},v1={signed}"}, JOB, now)

    asked: list[object] = []
    app = flask.Flask("service")

    @app.post("/jobs")
    def submit() -> flask.Response:
        asked.append(flask.request.get_json())
        return flask.Response(JOB, 202, mimetype="application/json")

    with serving(app) as url:
        for key in ("", "k"):
            JobsProvider("jobs", url, SecretStr(key), callback_url="http://us.example/callbacks").submit(REQUEST)
    assert ["callback_url" in body for body in asked if isinstance(body, dict)] == [False, True]


def test_prices_and_limits_are_read_with_suspicion() -> None:
    bad = b'{"models": [{"id": "m", "kind": "image", "price": {"amount": "-1", "currency": "USD", "per": "job"}}]}'
    with service(200, bad) as url, pytest.raises(UnavailableError, match="lists no models"):
        provider(url).capabilities()
    good = bad.replace(b"-1", b"0.125")
    with service(200, good) as url:
        (offer,) = provider(url).capabilities()
    assert str(offer.price.of(None)) == "0.125"
