"""What `loopwright up --engine` is told of an engine that it could never work with."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from app.preflight import engine_problems
from core.settings import load_settings
from tests.support.engines import EVENT_KEY, SIGNING_KEY, RunningEngine, embedded, running


@contextmanager
def saying(kind: str | None, status: int) -> Iterator[str]:
    """The address of a web server that answers everything so."""

    class Door(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            if kind is not None:
                self.send_header("X-Inngest-Server-Kind", kind)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Door)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize("status", [200, 404])
def test_what_answers_is_no_engine(status: int) -> None:
    with saying(None, status) as url:
        assert engine_problems(url, load_settings()) == [
            f"what answers at {url} is no Inngest server (GET /health gave {status}): correct --engine"
        ]


def test_a_dev_server_is_asked_without_keys_only() -> None:
    with saying("dev", 200) as url:
        assert engine_problems(url, load_settings()) == []
        assert engine_problems(url, load_settings(inngest_signing_key=SIGNING_KEY)) == [
            f"engine {url} is a dev server, which signs nothing: unset INNGEST_SIGNING_KEY to use it"
        ]


@pytest.fixture(scope="module")
def keyed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningEngine]:
    with running(embedded(tmp_path_factory.mktemp("keyed"))) as engine:
        yield engine


@pytest.mark.parametrize(
    ("key", "line"),
    [
        (f"signkey-prod-{SIGNING_KEY}", None),
        ("", "engine {url} checks keys: set INNGEST_SIGNING_KEY and INNGEST_EVENT_KEY to its own"),
        ("signkey-prod-" + "0" * 64, "the engine at {url} refuses our key"),
    ],
)
def test_an_engine_with_keys_takes_its_own_only(keyed: RunningEngine, key: str, line: str | None) -> None:
    found = engine_problems(keyed.url, load_settings(inngest_signing_key=key, inngest_event_key=EVENT_KEY))

    if line is None:
        assert found == []
    else:
        assert len(found) == 1
        assert found[0].startswith(line.format(url=keyed.url))
