"""Traces for an OpenTelemetry collector."""

import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import inngest
import pytest

from tests.engine.clients import make_client
from tests.engine.conftest import ServeApp
from tests.engine.engine_process import EngineProcess
from tests.engine.sending import send, trigger
from tests.engine.waiting import eventually


class Collector:
    """Takes what an OTLP/HTTP collector takes, and keeps it."""

    def __init__(self) -> None:
        self.spans: list[dict[str, Any]] = []
        self.paths: set[str] = set()
        kept, paths = self.spans, self.paths

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                paths.add(self.path)
                for resource in body["resourceSpans"]:
                    for scope in resource["scopeSpans"]:
                        kept.extend(scope["spans"])
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                return

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def collector() -> Iterator[Collector]:
    made = Collector()
    yield made
    made.stop()


@pytest.fixture
def traced_engine(tmp_path: Path, collector: Collector) -> Iterator[EngineProcess]:
    process = EngineProcess(f"sqlite:///{tmp_path / 'engine.db'}", "--otlp-endpoint", collector.url).start()
    yield process
    process.close()


def test_each_ended_run_is_a_trace_of_its_steps_and_attempts(
    traced_engine: EngineProcess, collector: Collector, serve: ServeApp
) -> None:
    # Given a function with a step that fails once and one that is fine
    client = make_client(traced_engine)

    @client.create_function(fn_id="fn", trigger=trigger(client), retries=1)
    def fn(ctx: inngest.ContextSync) -> None:
        def flaky() -> None:
            if ctx.attempt == 0:
                raise ValueError("not yet")

        ctx.step.run("flaky", flaky)
        ctx.step.run("fine", lambda: None)

    serve(traced_engine, client, [fn])
    # When it runs
    (event_id,) = send(traced_engine, client, {})
    run = traced_engine.ended_run(event_id)
    # Then the collector gets one trace: the run above its steps, and they above their attempts
    eventually(lambda: len(collector.spans) >= 5)
    spans = list(collector.spans)
    assert collector.paths == {"/v1/traces"}
    assert len({span["traceId"] for span in spans}) == 1
    assert all(len(span["traceId"]) == 32 and len(span["spanId"]) == 16 for span in spans)
    by_id = {span["spanId"]: span for span in spans}
    assert len(by_id) == len(spans)
    parents = {(span["name"], by_id[span["parentSpanId"]]["name"]) for span in spans if "parentSpanId" in span}
    slug = f"{client.app_id}-fn"
    assert {("flaky", slug), ("fine", slug), ("Attempt 0", "flaky"), ("Attempt 1", "flaky")} <= parents
    (root,) = [span for span in spans if "parentSpanId" not in span]
    told = {each["key"]: each["value"]["stringValue"] for each in root["attributes"]}
    assert told["inngest.run.id"] == run["run_id"]
    assert told["inngest.status"] == "COMPLETED"
    assert all(int(span["startTimeUnixNano"]) <= int(span["endTimeUnixNano"]) for span in spans)


def test_a_collector_that_is_away_does_not_matter(tmp_path: Path, serve: ServeApp) -> None:
    engine = EngineProcess(f"sqlite:///{tmp_path / 'engine.db'}", "--otlp-endpoint", "http://127.0.0.1:9/").start()
    client = make_client(engine)

    @client.create_function(fn_id="fn", trigger=trigger(client))
    def fn(ctx: inngest.ContextSync) -> str:
        return "done"

    try:
        serve(engine, client, [fn])
        for _ in range(3):
            (event_id,) = send(engine, client, {})
            assert engine.ended_run(event_id)["output"] == "done"
        assert engine.stop() == 0
    finally:
        engine.close()
