"""Somebody who takes callbacks: a real HTTP server that keeps what it is sent."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Callback:
    signature: str
    body: bytes

    @property
    def job(self) -> dict[str, Any]:
        shown: dict[str, Any] = json.loads(self.body)
        return shown


@dataclass
class Listener:
    """`refusals` is how many callbacks are still answered with 503."""

    url: str
    refusals: int = 0
    heard: list[Callback] = field(default_factory=list)

    def states(self) -> list[str]:
        return [callback.job["state"] for callback in self.heard]


@contextmanager
def listening(refusals: int = 0) -> Iterator[Listener]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    listener = Listener(f"http://127.0.0.1:{server.server_port}/callbacks", refusals)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if listener.refusals > 0:
                listener.refusals -= 1
                self.send_error(503)
                return
            listener.heard.append(Callback(self.headers["X-Jobs-Signature"], body))
            self.send_response(204)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    server.RequestHandlerClass = Handler
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield listener
    finally:
        server.shutdown()
        thread.join(10)
        server.server_close()
