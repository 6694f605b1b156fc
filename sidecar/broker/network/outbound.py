"""Send one request to one destination and read an answer of bounded size in bounded time.

Connections are made only to addresses that were checked, and all of them end at one moment.
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


class CheckedBackend(httpcore.NetworkBackend):
    """Connects where `addresses` allow, to the very address that was checked; nothing lasts beyond `until`.

    A time limit for each read would let a server that drips go on for ever.
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
        del timeout, local_address, socket_options
        refused: Exception = httpcore.ConnectError("no address")
        for ip in self._addresses.of(host, port):
            try:
                stream = self._plain.connect_tcp(str(ip), port, min(_CONNECT_SECONDS, _seconds_left(self._until)))
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                refused = error
                continue
            return _BoundedStream(stream, self._until)
        raise refused


class _BoundedStream(httpcore.NetworkStream):
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
        raise httpcore.ReadTimeout("the time is over")
    return left


MAX_ANSWER = 8 * 1024 * 1024
MOST_SECONDS = 120.0
MOST_AT_ONCE = 4
_MOST_REDIRECTS = 5
_DROPPED_HEADERS = frozenset({"transfer-encoding", "connection", "content-encoding", "content-length"})


@dataclass(frozen=True)
class OutboundRequest:
    """A request as it goes out: secrets are in `headers` already, and only there."""

    method: str
    place: Destination
    url: httpx.URL
    headers: Mapping[str, str]
    content: bytes | None


@dataclass(frozen=True)
class OutboundResponse:
    status: int
    headers: Mapping[str, str]
    content: bytes


class OutboundHttp:
    """Keeps no connection: one skill's must not be another's, and each is checked anew."""

    def __init__(self, addresses: Addresses) -> None:
        self._addresses = addresses
        self._lock = threading.Lock()
        self._context: ssl.SSLContext | None = None
        self._places: dict[str, threading.BoundedSemaphore] = {}

    def send(self, request: OutboundRequest, seconds: float, who: str) -> OutboundResponse:
        """Raises Denied when it would lead elsewhere, Failed when it does not work.

        Of each `who` only so many go out at a time: answers are held in the memory of all.
        """
        until = time.monotonic() + min(seconds, MOST_SECONDS)
        with self._lock:
            places = self._places.setdefault(who, threading.BoundedSemaphore(MOST_AT_ONCE))
        if not places.acquire(timeout=min(seconds, MOST_SECONDS)):
            raise RequestFailed(f"{MOST_AT_ONCE} other requests of this skill took all the time", retriable=True)
        try:
            return self._followed(request, until, seconds)
        finally:
            places.release()

    def _followed(self, request: OutboundRequest, until: float, seconds: float) -> OutboundResponse:
        for _ in range(_MOST_REDIRECTS + 1):
            received = self._once(request, until, seconds)
            onward = _next_request(request, received)
            if onward is None:
                return received
            request = onward
        raise RequestFailed(f"{request.place} redirects without end", retriable=False)

    def _once(self, request: OutboundRequest, until: float, seconds: float) -> OutboundResponse:
        place = request.place
        target = httpcore.URL(
            scheme=place.scheme.encode(), host=place.host.encode(), port=place.port, target=request.url.raw_path
        )
        headers = [(b"host", place.netloc.encode())]
        headers += [(name.encode("ascii"), value.encode("ascii")) for name, value in request.headers.items()]
        if request.content is not None or request.method in ("POST", "PUT", "PATCH"):
            headers.append((b"content-length", str(len(request.content or b"")).encode()))
        context = self._tls() if place.scheme == "https" else None
        backend = CheckedBackend(self._addresses, until)
        try:
            with (
                httpcore.ConnectionPool(ssl_context=context, network_backend=backend, retries=0) as pool,
                pool.stream(request.method, target, headers=headers, content=request.content) as response,
            ):
                return _read_response(response, place)
        except httpcore.TimeoutException:
            raise RequestFailed(f"{place} did not answer in full within {seconds:g} s", retriable=True) from None
        except httpcore.LocalProtocolError as error:
            raise RequestFailed(f"this request cannot be sent: {error}", retriable=False) from None
        except (httpcore.NetworkError, httpcore.ProtocolError) as error:
            raise RequestFailed(f"{place} could not be asked: {type(error).__name__}", retriable=True) from None

    def _tls(self) -> ssl.SSLContext:
        with self._lock:
            # Reading the system's certificates takes long: done for the first https request.
            if self._context is None:
                self._context = ssl.create_default_context()
            return self._context


def _read_response(response: httpcore.Response, place: Destination) -> OutboundResponse:
    headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers}
    unpack = _make_decompressor(headers.get("content-encoding", ""), place)
    content = bytearray()
    for chunk in response.iter_stream():
        try:
            content += unpack.decompress(chunk, MAX_ANSWER + 1 - len(content)) if unpack is not None else chunk
        except zlib.error:
            raise RequestFailed(f"{place} answered something that is not packed as it says", retriable=True) from None
        if len(content) > MAX_ANSWER or (unpack is not None and unpack.unconsumed_tail):
            raise RequestFailed(f"{place} answered more than {MAX_ANSWER} bytes", retriable=False)
    kept = {name: value for name, value in headers.items() if name not in _DROPPED_HEADERS}
    return OutboundResponse(response.status, kept, bytes(content))


def _make_decompressor(encoding: str, place: Destination) -> zlib._Decompress | None:
    """We ask for plain answers; some servers pack all the same. Unpacked by hand, so that none can swell.

    Raises Failed for what is packed in another way: no secret would be found in it.
    """
    match encoding.strip().lower():
        case "" | "identity":
            return None
        case "gzip" | "deflate" | "x-gzip":
            return zlib.decompressobj(47)
        case _:
            raise RequestFailed(
                f"{place} answered packed as {encoding[:40]!r}, and was asked not to pack", retriable=True
            )


def _next_request(request: OutboundRequest, received: OutboundResponse) -> OutboundRequest | None:
    location = received.headers.get("location", "")
    if received.status not in (301, 302, 303, 307, 308) or not location:
        return None
    try:
        place, url = read_url(str(request.url.join(location)))
    except (httpx.InvalidURL, ValueError):
        raise RequestFailed(f"{request.place} redirects to something that is no address", retriable=False) from None
    if place != request.place:
        raise RequestDenied("host", f"{request.place} redirects to {place}; redirects to another host are not followed")
    if received.status in (307, 308) or request.method in ("GET", "HEAD"):
        return OutboundRequest(request.method, place, url, request.headers, request.content)
    plain = {name: value for name, value in request.headers.items() if not name.startswith("content-")}
    return OutboundRequest("GET", place, url, plain, None)
