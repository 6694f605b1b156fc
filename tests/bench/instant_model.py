"""A model that answers at once, over HTTP: so many calls of a cheap tool, then words. It keeps the time between."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

_VERDICTS: dict[str, dict[str, Any]] = {
    "route": {"outcome": "new", "task_id": None, "goal": "Look", "object_ids": [], "reasons": [], "candidates": []},
    "duplicate_check": {"outcome": "new", "task_id": None, "reasons": []},
    "memory_candidates": {"candidates": []},
}


class InstantModel:
    """`gaps` holds, in milliseconds, the time from each answer with a call to the request for the next decision.

    `served` holds what each decision took from its request to its answer, `last_request` is the last one asked for.
    """

    def __init__(self) -> None:
        self.url = ""
        self.gaps: list[float] = []
        self.served: list[float] = []
        self.last_request: dict[str, Any] = {}
        self._left = 0
        self._answered: float | None = None
        self._count = 0
        self._lock = threading.Lock()

    def plan(self, steps: int) -> None:
        """Propose a call in the next so many decisions, then end the turn with words."""
        with self._lock:
            self._left, self._answered = steps, None

    @property
    def spent(self) -> bool:
        """Whether the turn that was planned has been ended."""
        with self._lock:
            return self._left < 0

    def arrived(self, at: float) -> None:
        with self._lock:
            if self._answered is not None:
                self.gaps.append((at - self._answered) * 1000)

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        shape = request.get("response_format", {}).get("json_schema", {}).get("name")
        if shape is not None:
            return _completion({"content": json.dumps(_VERDICTS[shape])})
        self.last_request = request
        with self._lock:
            self._left -= 1
            self._count += 1
            if self._left < 0:
                return _completion({"content": "Looked."})
            arguments = json.dumps({"query": f"nothing {self._count}"})
            call = {"id": "call_1", "type": "function", "function": {"name": "list_objects", "arguments": arguments}}
            return _completion({"content": None, "tool_calls": [call]})

    def left(self, more: bool) -> None:
        with self._lock:
            self._answered = time.perf_counter() if more else None


def _completion(message: dict[str, Any]) -> dict[str, Any]:
    ends = "tool_calls" if message.get("tool_calls") else "stop"
    choice = {"index": 0, "finish_reason": ends, "message": {"role": "assistant", **message}}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    return {
        "id": "x",
        "object": "chat.completion",
        "created": 0,
        "model": "instant",
        "choices": [choice],
        "usage": usage,
    }


@contextmanager
def instant_model() -> Iterator[InstantModel]:
    model = InstantModel()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # Small answers in one packet, at once.
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            came = time.perf_counter()
            model.arrived(came)
            said = model.answer(json.loads(body))
            raw = json.dumps(said).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)
            self.wfile.flush()
            model.served.append((time.perf_counter() - came) * 1000)
            model.left(said["choices"][0]["finish_reason"] == "tool_calls")

        def log_message(self, *_: object) -> None:
            """Nothing: the bench prints its own table."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    model.url = f"http://127.0.0.1:{server.server_port}/v1"
    try:
        yield model
    finally:
        server.shutdown()
        server.server_close()
