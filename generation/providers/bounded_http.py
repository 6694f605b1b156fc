"""HTTP exchanges with one limit of time and size, and without redirects.

The timeout of an HTTP client counts for each read, so a service that sends a byte now and then, in its headers too,
could keep us for ever. Here every read and write of a thread has only what is left of the whole exchange.
"""

from __future__ import annotations

import ipaddress
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx

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
def limit_exchange(seconds: float, most: int | None = None) -> Iterator[None]:
    """Limit what this thread exchanges in the block, over clients that are `limited`.

    Past the time, or past `most` bytes from the line, the connection is closed and its next use is the client's own
    error of a read or a write.
    """
    before, _current.exchange = _current.exchange, _Exchange(time.monotonic() + seconds, most)
    try:
        yield
    finally:
        _current.exchange = before


def limit_client(client: _Client) -> _Client:
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
        return _Stream(self._plain.connect_tcp(host, port, timeout=_time_left(timeout), **options))

    def connect_unix_socket(self, path: str, timeout: float | None = None, **options: Any) -> _Stream:
        return _Stream(self._plain.connect_unix_socket(path, timeout=_time_left(timeout), **options))

    def sleep(self, seconds: float) -> None:
        self._plain.sleep(seconds)


class _Stream:
    """One connection."""

    def __init__(self, plain: Any) -> None:
        self._plain = plain

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        self._end_if_over()
        data: bytes = self._plain.read(max_bytes, timeout=_time_left(timeout))
        exchange = _current.exchange
        if exchange is not None and exchange.left is not None:
            exchange.left -= len(data)
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        for start in range(0, len(buffer), _PIECE):
            self._end_if_over()
            self._plain.write(buffer[start : start + _PIECE], timeout=_time_left(timeout))

    def close(self) -> None:
        self._plain.close()

    def start_tls(self, ssl_context: Any, server_hostname: str | None = None, timeout: float | None = None) -> _Stream:
        return _Stream(self._plain.start_tls(ssl_context, server_hostname, timeout=_time_left(timeout)))

    def get_extra_info(self, info: str) -> Any:
        return self._plain.get_extra_info(info)

    def _end_if_over(self) -> None:
        exchange = _current.exchange
        if exchange is not None and (exchange.seconds <= 0 or (exchange.left is not None and exchange.left < 0)):
            self._plain.close()


def _time_left(timeout: float | None) -> float | None:
    """How long one operation may take: its own time, or what is left of the exchange."""
    if _current.exchange is None:
        return timeout
    left = max(_LEAST, _current.exchange.seconds)
    return left if timeout is None else min(timeout, left)


MOST_JSON = 1 << 20
NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.UnsupportedProtocol, httpx.ProxyError)


class AnswerTooLongError(Exception):
    """The answer is longer than it may be."""


@dataclass(frozen=True)
class BoundedResponse:
    status: int
    headers: httpx.Headers
    body: bytes

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300

    def json(self) -> object:
        """The body as JSON; raises ValueError."""
        try:
            return json.loads(self.body)
        except RecursionError:
            raise ValueError("nested too deeply") from None

    def detail(self) -> str:
        """What a problem body says, for the reader of an error; never a page of HTML."""
        try:
            body = self.json()
        except ValueError:
            return f"status {self.status}"
        said = (body.get("detail") or body.get("title") or body.get("error")) if isinstance(body, dict) else None
        return f"status {self.status}: {str(said)[:500]}" if said else f"status {self.status}"


def open_client(base_url: str, seconds: float) -> httpx.Client:
    """A client of one service. One on this machine is reached without a proxy and, over http, without certificates."""
    limits = httpx.Timeout(seconds, connect=min(seconds, 5.0))
    where = urlsplit(base_url)
    near = is_loopback(where.hostname or "")
    plain = near and where.scheme == "http"
    return limit_client(httpx.Client(timeout=limits, follow_redirects=False, trust_env=not near, verify=not plain))


def send_request(
    http: httpx.Client, method: str, url: str, *, seconds: float, most: int = MOST_JSON, **request: Any
) -> BoundedResponse:
    """One request, sent once, and over within so many seconds, headers and all.

    Raises httpx.HTTPError, which a lack of time is too, or TooMuchError.
    """
    chunks: list[bytes] = []
    size = 0
    with limit_exchange(seconds), http.stream(method, url, **request) as answer:
        for chunk in answer.iter_bytes():
            chunks.append(chunk)
            size += len(chunk)
            if size > most:
                raise AnswerTooLongError(f"the answer is longer than {most} bytes")
        return BoundedResponse(answer.status_code, answer.headers, b"".join(chunks))


def parse_origin(url: str) -> tuple[str, str, int]:
    """Scheme, host and port of an address; raises ValueError when it is none."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None:
        raise ValueError("no http address")
    return parts.scheme, parts.hostname, parts.port or (443 if parts.scheme == "https" else 80)


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
