"""A small Prometheus, whose readings a test sets, and a receiver of webhooks like Slack's; both are real servers."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit

from tests.support.http_servers import HttpServer, Request, Response, http_server

WELL = {
    "requests_per_second": 40.0,
    "restarts": 0.0,
    "error_rate": 0.001,
    "latency_p95_seconds": 0.2,
    "cpu_used": 0.3,
    "memory_used": 0.4,
}


@dataclass
class Metrics:
    """What the server answers from: `services` has the readings now, `deploys` the last service, version, minutes ago.

    No answer comes before `held` is set.
    """

    services: dict[str, dict[str, float]] = field(default_factory=lambda: {"checkout": dict(WELL), "cart": dict(WELL)})
    deploys: list[tuple[str, str, float]] = field(default_factory=list)
    down: bool = False
    held: threading.Event | None = None
    address: str = ""
    queries: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://{self.address}"

    def set(self, service: str, **readings: float) -> None:
        self.services[service] = {**WELL, **readings}

    def answer(self, request: Request) -> Response:
        url = urlsplit(request.path)
        if self.down:
            return Response(503, b"the storage is not ready")
        if url.path != "/api/v1/query":
            return Response(404, b"no such page")
        if self.held is not None:
            self.held.wait(30)
        query = parse_qs(url.query)["query"][0]
        self.queries.append(query)
        rows = [{"metric": labels, "value": [1790000000.0, str(value)]} for labels, value in self._rows(query)]
        body = {"status": "success", "data": {"resultType": "vector", "result": rows}}
        return Response(200, json.dumps(body).encode(), {"content-type": "application/json"})

    def _rows(self, query: str) -> list[tuple[dict[str, str], float]]:
        if "deployed_at_seconds" in query:
            return [({"service": name, "version": version}, ago * 60) for name, version, ago in self.deploys]
        if "topk(" in query:
            return [({"service": name, "route": "/pay"}, read["error_rate"]) for name, read in self.services.items()]
        measure, factor = _measure(query)
        return [({"service": name}, read[measure] * factor) for name, read in self.services.items() if measure in read]


def _measure(query: str) -> tuple[str, float]:
    """Return the reading that a query asks for, and the factor it is shown with."""
    if "histogram_quantile" in query:
        return "latency_p95_seconds", 1.5 if "0.99" in query else 1.0
    if "status=~" in query:
        return "error_rate", 1.0
    for part, measure in (("cpu", "cpu_used"), ("memory", "memory_used"), ("restarts", "restarts")):
        if part in query:
            return measure, 1.0
    return "requests_per_second", 1.0


@contextmanager
def prometheus(port: int = 0) -> Iterator[Metrics]:
    metrics = Metrics()
    with http_server(metrics.answer, port=port) as built:
        metrics.address = built.address
        yield metrics


@dataclass
class Receiver:
    """What was posted to one address, oldest first."""

    server: HttpServer

    @property
    def url(self) -> str:
        return self.server.url

    @property
    def texts(self) -> list[str]:
        return [str(json.loads(request.body)["text"]) for request in list(self.server.requests)]


@contextmanager
def receiver() -> Iterator[Receiver]:
    with http_server() as built:
        yield Receiver(built)
