"""HTTP servers for outgoing calls: each answers by a function and keeps the requests it got."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Request:
    """One request as it arrived; header names are in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class Response:
    status: int = 200
    body: bytes = b"{}"
    headers: Mapping[str, str] = field(default_factory=dict)


Answerer = Callable[[Request], Response]


@dataclass
class HttpServer:
    """One running server, with the requests that it got, oldest first."""

    port: int
    requests: list[Request] = field(default_factory=list)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        return f"http://{self.address}"


@contextmanager
def http_server(
    answer: Answerer = lambda _: Response(), *, drip: float = 0, tls: ssl.SSLContext | None = None, port: int = 0
) -> Iterator[HttpServer]:
    """Serve on `port`, or on a free one for 0, and answer each request by `answer`.

    `drip` seconds pass between any two bytes of an answer. Raises OSError for a port that is taken.
    """
    built = HttpServer(0)
    ended = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def respond(self) -> None:
            length = int(self.headers.get("content-length") or 0)
            headers = {name.lower(): value for name, value in self.headers.items()}
            request = Request(self.command, self.path, headers, self.rfile.read(length))
            built.requests.append(request)
            response = answer(request)
            self.send_response(response.status)
            for name, value in response.headers.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(response.body)))
            self.end_headers()
            if not drip:
                self.wfile.write(response.body)
                return
            for byte in response.body:
                self.wfile.write(bytes([byte]))
                self.wfile.flush()
                if ended.wait(drip):
                    return

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = respond

        def log_message(self, format: str, *args: Any) -> None:
            del format, args

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: Any, client_address: Any) -> None:
            """Say nothing: some tests have clients that hang up."""

    with Server(("127.0.0.1", port), Handler) as server:
        built.port = server.server_address[1]
        if tls is not None:
            # The handshake is made by the thread that answers: one that fails must not block the others.
            server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        yield built
        ended.set()
        server.shutdown()
        thread.join(5)
