"""One limit for a whole exchange over HTTP: the time from the first byte sent to the last one read, and its size.

A time that is given to an HTTP client is one of each read, so that a service which sends a byte now and then, in its
headers too, is listened to for ever. Here every read and write of a thread has only what is left of its exchange.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

_PIECE = 1 << 16
_LEAST = 0.001
_Client = TypeVar("_Client")


@dataclass
class _Exchange:
    until: float
    left: int | None

    @property
    def seconds(self) -> float:
        return self.until - time.monotonic()


class _Current(threading.local):
    exchange: _Exchange | None = None


_current = _Current()


@contextmanager
def within(seconds: float, most: int | None = None) -> Iterator[None]:
    """Limit what this thread exchanges in the block, over clients that are `limited`.

    Past the time, or past `most` bytes from the line, the connection is closed and its next use is the client's own
    error of a read or a write.
    """
    before, _current.exchange = _current.exchange, _Exchange(time.monotonic() + seconds, most)
    try:
        yield
    finally:
        _current.exchange = before


def limited(client: _Client) -> _Client:
    """The client, of httpx or a namesake, whose connections from now on keep to the exchange that they are used in."""
    known: Any = client
    for transport in (known._transport, *known._mounts.values()):
        if transport is not None:
            # No option hands a backend through to the pool, which takes one.
            transport._pool._network_backend = _Backend(transport._pool._network_backend)
    return client


class _Backend:
    """Opens connections as `plain` does, and has each of them keep to its exchange."""

    def __init__(self, plain: Any) -> None:
        self._plain = plain

    def connect_tcp(self, host: str, port: int, timeout: float | None = None, **options: Any) -> _Stream:
        return _Stream(self._plain.connect_tcp(host, port, timeout=_wait(timeout), **options))

    def connect_unix_socket(self, path: str, timeout: float | None = None, **options: Any) -> _Stream:
        return _Stream(self._plain.connect_unix_socket(path, timeout=_wait(timeout), **options))

    def sleep(self, seconds: float) -> None:
        self._plain.sleep(seconds)


class _Stream:
    """One connection."""

    def __init__(self, plain: Any) -> None:
        self._plain = plain

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        self._end_if_over()
        data: bytes = self._plain.read(max_bytes, timeout=_wait(timeout))
        exchange = _current.exchange
        if exchange is not None and exchange.left is not None:
            exchange.left -= len(data)
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        for start in range(0, len(buffer), _PIECE):
            self._end_if_over()
            self._plain.write(buffer[start : start + _PIECE], timeout=_wait(timeout))

    def close(self) -> None:
        self._plain.close()

    def start_tls(self, ssl_context: Any, server_hostname: str | None = None, timeout: float | None = None) -> _Stream:
        return _Stream(self._plain.start_tls(ssl_context, server_hostname, timeout=_wait(timeout)))

    def get_extra_info(self, info: str) -> Any:
        return self._plain.get_extra_info(info)

    def _end_if_over(self) -> None:
        exchange = _current.exchange
        if exchange is not None and (exchange.seconds <= 0 or (exchange.left is not None and exchange.left < 0)):
            self._plain.close()


def _wait(timeout: float | None) -> float | None:
    """How long one operation may take: its own time, or what is left of the exchange."""
    if _current.exchange is None:
        return timeout
    left = max(_LEAST, _current.exchange.seconds)
    return left if timeout is None else min(timeout, left)
