"""A chat server that answers whatever a test has written, byte for byte, and counts what it was asked."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Answer:
    """One answer. `promise` is a false length, `drip` the seconds between two bytes, `wait` those before the first."""

    body: bytes = b""
    status: int = 200
    content_type: str = "application/json"
    promise: int | None = None
    drip: float = 0.0
    wait: float = 0.0


@dataclass
class Hostile:
    url: str = ""
    answers: list[Answer] = field(default_factory=list)
    requests: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)


def completion(message: dict[str, Any], **more: Any) -> Answer:
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": more.pop("finish", "stop")}
    return Answer(
        json.dumps({"id": "c", "object": "chat.completion", "model": "m-1", "choices": [choice], **more}).encode()
    )


@contextmanager
def hostile(answers: Sequence[Answer]) -> Iterator[Hostile]:
    """Gives the answers in order; one request too many gets status 418."""
    told = Hostile(answers=list(answers))

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            told.requests.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            told.keys.append(self.headers.get("Authorization", ""))
            answer = told.answers.pop(0) if told.answers else Answer(b"too many", 418)
            time.sleep(answer.wait)
            try:
                self._send(answer)
            except OSError:
                # The client went away, as some of the tests want it to.
                self.close_connection = True

        def _send(self, answer: Answer) -> None:
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.content_type)
            self.send_header("Content-Length", str(answer.promise or len(answer.body)))
            self.end_headers()
            pieces = [bytes([byte]) for byte in answer.body] if answer.drip else [answer.body]
            for piece in pieces:
                self.wfile.write(piece)
                self.wfile.flush()
                time.sleep(answer.drip)
            self.close_connection = True

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    told.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield told
    finally:
        server.shutdown()
        thread.join(10)
        server.server_close()
