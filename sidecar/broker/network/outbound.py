"""Send one request to one destination and read an answer of bounded size within bounded time.

Connections are made only to checked addresses, and all of them end at one deadline.
"""

from __future__ import annotations

import ssl
import threading
import time
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import httpcore
import httpx

from sidecar.broker.errors import RequestDenied, RequestFailed
from sidecar.broker.network.addresses import Addresses
from sidecar.broker.network.destination import Destination, read_url

_CONNECT_SECONDS = 10.0
MAX_ANSWER = 8 * 1024 * 1024
MOST_SECONDS = 120.0
MOST_AT_ONCE = 4
_MOST_REDIRECTS = 5
_DROPPED_HEADERS = frozenset({"transfer-encoding", "connection", "content-encoding", "content-length"})


class CheckedBackend(httpcore.NetworkBackend):
    """Connects to the very address that `addresses` checked; nothing lasts beyond the deadline `until`.

    A time limit for each read would let a server that sends byte by byte go on for ever.
    """

    def __init__(self, addresses: Addresses, until: float) -> None:
        self._addresses = addresses
        self._until = until
        self._plain = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        """Connect to the first checked address that accepts."""
        del timeout, local_address, socket_options
        refused: Exception = httpcore.ConnectError("no address")
        for ip in self._addresses.resolve(host, port):
            try:
                stream = self._plain.connect_tcp(str(ip), port, min(_CONNECT_SECONDS, _seconds_left(self._until)))
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                refused = error
                continue
            return _BoundedStream(stream, self._until)
        raise refused


class _BoundedStream(httpcore.NetworkStream):
    """A stream that ends at the deadline."""

    def __init__(self, stream: httpcore.NetworkStream, until: float) -> None:
        self._stream = stream
        self._until = until

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        del timeout
        return self._stream.read(max_bytes, _seconds_left(self._until))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        del timeout
        self._stream.write(buffer, _seconds_left(self._until))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        del timeout
        return _BoundedStream(
            self._stream.start_tls(ssl_context, server_hostname, _seconds_left(self._until)), self._until
        )

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


def _seconds_left(until: float) -> float:
    left = until - time.monotonic()
    if left <= 0:
        raise httpcore.ReadTimeout("the time is up")
    return left


@dataclass(frozen=True)
class OutboundRequest:
    """A request as it is sent: `headers`, and only they, contain secrets."""

    method: str
    destination: Destination
    url: httpx.URL
    headers: Mapping[str, str]
    content: bytes | None


@dataclass(frozen=True)
class OutboundResponse:
    """The received answer."""

    status: int
    headers: Mapping[str, str]
    content: bytes


class OutboundHttp:
    """Sends requests. Keeps no connections: skills must not share them, and each address is checked every time."""

    def __init__(self, addresses: Addresses) -> None:
        self._addresses = addresses
        self._lock = threading.Lock()
        self._context: ssl.SSLContext | None = None
        self._slots: dict[str, threading.BoundedSemaphore] = {}

    def send(self, request: OutboundRequest, seconds: float, skill: str) -> OutboundResponse:
        """Send the request; raises RequestDenied for a redirect to another host, RequestFailed when it does not work.

        Only few requests of a `skill` are sent at a time, since answers are held in memory.
        """
        until = time.monotonic() + min(seconds, MOST_SECONDS)
        with self._lock:
            slots = self._slots.setdefault(skill, threading.BoundedSemaphore(MOST_AT_ONCE))
        if not slots.acquire(timeout=min(seconds, MOST_SECONDS)):
            raise RequestFailed(f"{MOST_AT_ONCE} other requests of this skill took all the time", retriable=True)
        try:
            return self._follow_redirects(request, until, seconds)
        finally:
            slots.release()

    def _follow_redirects(self, request: OutboundRequest, until: float, seconds: float) -> OutboundResponse:
        for _ in range(_MOST_REDIRECTS + 1):
            received = self._send_once(request, until, seconds)
            next_request = _next_request(request, received)
            if next_request is None:
                return received
            request = next_request
        raise RequestFailed(f"{request.destination} redirects without end", retriable=False)

    def _send_once(self, request: OutboundRequest, until: float, seconds: float) -> OutboundResponse:
        destination = request.destination
        target = httpcore.URL(
            scheme=destination.scheme.encode(),
            host=destination.host.encode(),
            port=destination.port,
            target=request.url.raw_path,
        )
        headers = [(b"host", destination.netloc.encode())]
        headers += [(name.encode("ascii"), value.encode("ascii")) for name, value in request.headers.items()]
        if request.content is not None or request.method in ("POST", "PUT", "PATCH"):
            headers.append((b"content-length", str(len(request.content or b"")).encode()))
        context = self._tls() if destination.scheme == "https" else None
        backend = CheckedBackend(self._addresses, until)
        try:
            with (
                httpcore.ConnectionPool(ssl_context=context, network_backend=backend, retries=0) as pool,
                pool.stream(request.method, target, headers=headers, content=request.content) as response,
            ):
                return _read_response(response, destination)
        except httpcore.TimeoutException:
            raise RequestFailed(f"{destination} did not answer in full within {seconds:g} s", retriable=True) from None
        except httpcore.LocalProtocolError as error:
            raise RequestFailed(f"this request cannot be sent: {error}", retriable=False) from None
        except (httpcore.NetworkError, httpcore.ProtocolError) as error:
            raise RequestFailed(f"{destination} could not be asked: {type(error).__name__}", retriable=True) from None

    def _tls(self) -> ssl.SSLContext:
        with self._lock:
            # Reading the system's certificates takes long, so it is done for the first https request.
            if self._context is None:
                self._context = ssl.create_default_context()
            return self._context


def _read_response(response: httpcore.Response, destination: Destination) -> OutboundResponse:
    headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers}
    unpack = _make_decompressor(headers.get("content-encoding", ""), destination)
    content = bytearray()
    for chunk in response.iter_stream():
        try:
            content += unpack.decompress(chunk, MAX_ANSWER + 1 - len(content)) if unpack is not None else chunk
        except zlib.error:
            raise RequestFailed(
                f"{destination} sent an answer that is not compressed as it says", retriable=True
            ) from None
        if len(content) > MAX_ANSWER or (unpack is not None and unpack.unconsumed_tail):
            raise RequestFailed(f"{destination} answered more than {MAX_ANSWER} bytes", retriable=False)
    kept = {name: value for name, value in headers.items() if name not in _DROPPED_HEADERS}
    return OutboundResponse(response.status, kept, bytes(content))


def _make_decompressor(encoding: str, destination: Destination) -> zlib._Decompress | None:
    """Return a decompressor for servers that compress although plain answers are asked for.

    Its output is bounded. Raises RequestFailed for other encodings, since no secret would be found in them.
    """
    match encoding.strip().lower():
        case "" | "identity":
            return None
        case "gzip" | "deflate" | "x-gzip":
            # 32 + 15: a gzip or zlib header, whichever is there, and the largest window.
            return zlib.decompressobj(47)
        case _:
            raise RequestFailed(
                f"{destination} sent an answer compressed as {encoding[:40]!r}, though asked for a plain one",
                retriable=True,
            )


def _next_request(request: OutboundRequest, received: OutboundResponse) -> OutboundRequest | None:
    """Return the request that a redirect leads to; None when it is none."""
    location = received.headers.get("location", "")
    if received.status not in (301, 302, 303, 307, 308) or not location:
        return None
    try:
        destination, url = read_url(str(request.url.join(location)))
    except (httpx.InvalidURL, ValueError):
        raise RequestFailed(
            f"{request.destination} redirects to something that is not an address", retriable=False
        ) from None
    if destination != request.destination:
        raise RequestDenied(
            "host", f"{request.destination} redirects to {destination}; redirects to another host are not followed"
        )
    if received.status in (307, 308) or request.method in ("GET", "HEAD"):
        return OutboundRequest(request.method, destination, url, request.headers, request.content)
    plain = {name: value for name, value in request.headers.items() if not name.startswith("content-")}
    return OutboundRequest("GET", destination, url, plain, None)
