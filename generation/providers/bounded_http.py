"""HTTP exchanges without redirects, each limited in total time and size.

The timeout of an HTTP client applies to each single read, so a service that sends a byte now and then, even in its
headers, could keep us waiting for ever. Here each read and write gets only the time that is left of the whole exchange.
"""

from __future__ import annotations

import ipaddress
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx

MOST_JSON = 1 << 20
LONGEST_RETRY_AFTER = 3600
NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.UnsupportedProtocol, httpx.ProxyError)
"""Errors after which the request has certainly not been sent."""
_PIECE = 1 << 16
_LEAST_SECONDS = 0.001
_Client = TypeVar("_Client")


@dataclass
class _Exchange:
    """What is left of one exchange: the time until `until` (monotonic), and `left` bytes, if they are limited."""

    until: float
    left: int | None

    @property
    def seconds(self) -> float:
        return self.until - time.monotonic()


class _Current(threading.local):
    """The exchange of this thread, if there is one."""

    exchange: _Exchange | None = None


_current = _Current()


@contextmanager
def limit_exchange(seconds: float, most: int | None = None) -> Iterator[None]:
    """Limit what this thread exchanges in the block, over clients made by `limit_client`.

    After `seconds`, or after `most` bytes as received, the connection is closed, and its next use raises the client's
    own read or write error.
    """
    outer, _current.exchange = _current.exchange, _Exchange(time.monotonic() + seconds, most)
    try:
        yield
    finally:
        _current.exchange = outer


def limit_client(client: _Client) -> _Client:
    """Make the connections of a client obey `limit_exchange`, and return the client.

    The client is httpx's, or that of a package with the same internals.
    """
    opened: Any = client
    for transport in (opened._transport, *opened._mounts.values()):
        if transport is not None:
            # The pool accepts a backend, but the client has no option that passes one to it.
            transport._pool._network_backend = _Backend(transport._pool._network_backend)
    return client


class _Backend:
    """Network backend that wraps `plain` and limits each connection that it opens."""

    def __init__(self, plain: Any) -> None:
        self._plain = plain

    def connect_tcp(self, host: str, port: int, timeout: float | None = None, **options: Any) -> _Stream:
        return _Stream(self._plain.connect_tcp(host, port, timeout=_time_left(timeout), **options))

    def connect_unix_socket(self, path: str, timeout: float | None = None, **options: Any) -> _Stream:
        return _Stream(self._plain.connect_unix_socket(path, timeout=_time_left(timeout), **options))

    def sleep(self, seconds: float) -> None:
        self._plain.sleep(seconds)


class _Stream:
    """One limited connection."""

    def __init__(self, plain: Any) -> None:
        self._plain = plain

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        self._close_if_over()
        data: bytes = self._plain.read(max_bytes, timeout=_time_left(timeout))
        exchange = _current.exchange
        if exchange is not None and exchange.left is not None:
            exchange.left -= len(data)
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        for start in range(0, len(buffer), _PIECE):
            self._close_if_over()
            self._plain.write(buffer[start : start + _PIECE], timeout=_time_left(timeout))

    def close(self) -> None:
        self._plain.close()

    def start_tls(self, ssl_context: Any, server_hostname: str | None = None, timeout: float | None = None) -> _Stream:
        return _Stream(self._plain.start_tls(ssl_context, server_hostname, timeout=_time_left(timeout)))

    def get_extra_info(self, info: str) -> Any:
        return self._plain.get_extra_info(info)

    def _close_if_over(self) -> None:
        exchange = _current.exchange
        if exchange is not None and (exchange.seconds <= 0 or (exchange.left is not None and exchange.left < 0)):
            self._plain.close()


def _time_left(timeout: float | None) -> float | None:
    """Return how many seconds one operation may take: its own timeout, or what is left of the exchange."""
    if _current.exchange is None:
        return timeout
    left = max(_LEAST_SECONDS, _current.exchange.seconds)
    return left if timeout is None else min(timeout, left)


class AnswerTooLongError(Exception):
    """The answer is longer than the limit."""


@dataclass(frozen=True)
class BoundedResponse:
    """A whole response, with its body read."""

    status: int
    headers: httpx.Headers
    body: bytes

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300

    def json(self) -> object:
        """Parse the body as JSON; raises ValueError."""
        try:
            return json.loads(self.body)
        except RecursionError:
            raise ValueError("nested too deeply") from None

    def detail(self) -> str:
        """Describe a failed response for an error message: its status, and its reason if the body is JSON."""
        try:
            body = self.json()
        except ValueError:
            return f"status {self.status}"
        detail = (body.get("detail") or body.get("title") or body.get("error")) if isinstance(body, dict) else None
        return f"status {self.status}: {str(detail)[:500]}" if detail else f"status {self.status}"


def open_client(base_url: str, seconds: float) -> httpx.Client:
    """Open a client for one service.

    A service on this machine is reached without a proxy and, over http, without loading certificates.
    """
    limits = httpx.Timeout(seconds, connect=min(seconds, 5.0))
    parts = urlsplit(base_url)
    loopback = is_loopback(parts.hostname or "")
    plain = loopback and parts.scheme == "http"
    return limit_client(httpx.Client(timeout=limits, follow_redirects=False, trust_env=not loopback, verify=not plain))


def send_request(
    http: httpx.Client, method: str, url: str, *, seconds: float, most: int = MOST_JSON, **request: Any
) -> BoundedResponse:
    """Send one request once, and read the whole answer within `seconds`.

    Raises httpx.HTTPError, also when the time is over, or AnswerTooLongError past `most` bytes.
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
    """Return scheme, host and port of an http address; raises ValueError for anything else."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None:
        raise ValueError("no http address")
    return parts.scheme, parts.hostname, parts.port or (443 if parts.scheme == "https" else 80)


def parse_retry_after(value: str) -> timedelta | None:
    """Parse a `Retry-After` header in whole seconds, at most an hour; None for anything else."""
    if not (value.isascii() and value.isdigit() and len(value) < 6):
        return None
    return timedelta(seconds=min(int(value), LONGEST_RETRY_AFTER))


def is_loopback(host: str) -> bool:
    """Tell whether a host name or address is this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
