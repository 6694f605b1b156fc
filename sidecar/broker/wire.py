"""HTTP/1.1 over a unix socket: requests of an untrusted process, each of bounded size and time."""

from __future__ import annotations

import logging
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from typing import Any

_log = logging.getLogger(__name__)
MAX_REQUEST_BODY = 2 * 1024 * 1024
_MOST_DRAINED = 64 * 1024 * 1024
MAX_CONNECTIONS = 16
"""Connections of one child at a time; further ones wait, which affects only that child."""
IDLE_SECONDS = 30.0
_PAUSE_SECONDS = 1.0


@dataclass(frozen=True)
class WireRequest:
    """A request as it was received.

    `run_id` is what the child states, or empty. `too_large` is the size of a body that was not read, else 0.
    """

    path: str
    run_id: str
    body: bytes
    too_large: int = 0


@dataclass(frozen=True)
class WireAnswer:
    """An answer as it is sent: JSON with a status."""

    status: int
    body: bytes


class BrokerSocket:
    """A listening socket of one child, with a thread that accepts and a thread for each connection."""

    def __init__(self, listener: socket.socket, name: str, answer: Callable[[WireRequest], WireAnswer]) -> None:
        self._listener = listener
        self._answer = answer
        self._name = name
        self._free = threading.BoundedSemaphore(MAX_CONNECTIONS)
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._closed = False
        threading.Thread(target=self._accept, name=f"broker-{name}", daemon=True).start()

    def close(self) -> None:
        """Accept no more connections and cut the open ones."""
        with self._lock:
            self._closed = True
            connections = list(self._open)
        for one in (self._listener, *connections):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        while True:
            self._free.acquire()
            try:
                connection, _ = self._listener.accept()
            except OSError as error:
                self._free.release()
                with self._lock:
                    if self._closed:
                        return
                # Too many files may be open now, and fewer later.
                _log.warning("a connection of %s has to wait: %s", self._name, error)
                time.sleep(_PAUSE_SECONDS)
                continue
            with self._lock:
                if self._closed:
                    connection.close()
                    return
                self._open.add(connection)
            threading.Thread(target=self._serve, args=(connection,), name=f"broker-{self._name}", daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            _Handler(connection, self._answer)
        except OSError:
            # The child has ended, or takes too long to send.
            pass
        except Exception:  # noqa: BLE001 - the boundary of a thread: the log shows our faults
            _log.exception("the broker failed at a request of %s", self._name)
        finally:
            with self._lock:
                self._open.discard(connection)
            connection.close()
            self._free.release()


class _Handler(BaseHTTPRequestHandler):
    """Reads the requests of one connection and sends the answers."""

    protocol_version = "HTTP/1.1"
    server_version, sys_version = "broker", ""
    timeout = IDLE_SECONDS

    def __init__(self, connection: socket.socket, answer: Callable[[WireRequest], WireAnswer]) -> None:
        self._answer = answer
        super().__init__(connection, ("", 0), None)  # type: ignore[arg-type] # there is no server object behind it

    def do_POST(self) -> None:
        length = self.headers.get("content-length", "")
        if not length.isascii() or not length.isdigit() or self.headers.get("transfer-encoding"):
            self._refuse(411, "state the length of the body")
            return
        run_id = "".join(sign for sign in self.headers.get("x-run-id", "") if sign.isprintable())
        size = int(length[:15])
        if size > MAX_REQUEST_BODY:
            self.close_connection = True
            # A client that is still sending does not read the answer, so its body is drained first, up to a limit.
            if size <= _MOST_DRAINED:
                self._drain(size)
            self._send(self._answer(WireRequest(self.path, run_id, b"", size)))
            return
        body = self.rfile.read(size)
        if len(body) < size:
            self.close_connection = True
            return
        self._send(self._answer(WireRequest(self.path, run_id, body)))

    def _drain(self, size: int) -> None:
        while size > 0 and (read := self.rfile.read(min(size, 65536))):
            size -= len(read)

    def _refuse(self, status: int, text: str) -> None:
        self.close_connection = True
        self._send(WireAnswer(status, b'{"error": "%s", "retriable": false}' % text.encode()))

    def _send(self, answer: WireAnswer) -> None:
        self.send_response(answer.status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(answer.body)))
        if self.close_connection:
            self.send_header("connection", "close")
        self.end_headers()
        self.wfile.write(answer.body)

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: the callback that answers logs what matters."""
        del format, args
