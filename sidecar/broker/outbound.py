"""Sends one request to one place and reads an answer of bounded size in bounded time."""

from __future__ import annotations

import ssl
import threading
import time
import zlib
from collections.abc import Mapping
from dataclasses import dataclass

import httpcore
import httpx

from sidecar.broker.addresses import Addresses
from sidecar.broker.connecting import CheckedBackend
from sidecar.broker.denied import Denied, Failed
from sidecar.broker.place import Place, read_url

MAX_ANSWER = 8 * 1024 * 1024
MOST_SECONDS = 120.0
MOST_AT_ONCE = 4
_MOST_REDIRECTS = 5
_GONE = frozenset({"transfer-encoding", "connection", "content-encoding", "content-length"})


@dataclass(frozen=True)
class Sent:
    """A request as it goes out: secrets are in `headers` already, and only there."""

    method: str
    place: Place
    url: httpx.URL
    headers: Mapping[str, str]
    content: bytes | None


@dataclass(frozen=True)
class Received:
    status: int
    headers: Mapping[str, str]
    content: bytes


class Outbound:
    """Keeps no connection: one skill's must not be another's, and each is checked anew."""

    def __init__(self, addresses: Addresses) -> None:
        self._addresses = addresses
        self._lock = threading.Lock()
        self._context: ssl.SSLContext | None = None
        self._places: dict[str, threading.BoundedSemaphore] = {}

    def send(self, request: Sent, seconds: float, who: str) -> Received:
        """Raises Denied when it would lead elsewhere, Failed when it does not work.

        Of each `who` only so many go out at a time: answers are held in the memory of all.
        """
        until = time.monotonic() + min(seconds, MOST_SECONDS)
        with self._lock:
            places = self._places.setdefault(who, threading.BoundedSemaphore(MOST_AT_ONCE))
        if not places.acquire(timeout=min(seconds, MOST_SECONDS)):
            raise Failed(f"{MOST_AT_ONCE} other requests of this skill took all the time", retriable=True)
        try:
            return self._followed(request, until, seconds)
        finally:
            places.release()

    def _followed(self, request: Sent, until: float, seconds: float) -> Received:
        for _ in range(_MOST_REDIRECTS + 1):
            received = self._once(request, until, seconds)
            onward = _redirected(request, received)
            if onward is None:
                return received
            request = onward
        raise Failed(f"{request.place} redirects without end", retriable=False)

    def _once(self, request: Sent, until: float, seconds: float) -> Received:
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
                return _read(response, place)
        except httpcore.TimeoutException:
            raise Failed(f"{place} did not answer in full within {seconds:g} s", retriable=True) from None
        except httpcore.LocalProtocolError as error:
            raise Failed(f"this request cannot be sent: {error}", retriable=False) from None
        except (httpcore.NetworkError, httpcore.ProtocolError) as error:
            raise Failed(f"{place} could not be asked: {type(error).__name__}", retriable=True) from None

    def _tls(self) -> ssl.SSLContext:
        with self._lock:
            # Reading the system's certificates takes long: done for the first https request.
            if self._context is None:
                self._context = ssl.create_default_context()
            return self._context


def _read(response: httpcore.Response, place: Place) -> Received:
    headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers}
    unpack = _unpacking(headers.get("content-encoding", ""), place)
    content = bytearray()
    for chunk in response.iter_stream():
        try:
            content += unpack.decompress(chunk, MAX_ANSWER + 1 - len(content)) if unpack is not None else chunk
        except zlib.error:
            raise Failed(f"{place} answered something that is not packed as it says", retriable=True) from None
        if len(content) > MAX_ANSWER or (unpack is not None and unpack.unconsumed_tail):
            raise Failed(f"{place} answered more than {MAX_ANSWER} bytes", retriable=False)
    kept = {name: value for name, value in headers.items() if name not in _GONE}
    return Received(response.status, kept, bytes(content))


def _unpacking(encoding: str, place: Place) -> zlib._Decompress | None:
    """We ask for plain answers; some servers pack all the same. Unpacked by hand, so that none can swell.

    Raises Failed for what is packed in another way: no secret would be found in it.
    """
    match encoding.strip().lower():
        case "" | "identity":
            return None
        case "gzip" | "deflate" | "x-gzip":
            return zlib.decompressobj(47)
        case _:
            raise Failed(f"{place} answered packed as {encoding[:40]!r}, and was asked not to pack", retriable=True)


def _redirected(request: Sent, received: Received) -> Sent | None:
    location = received.headers.get("location", "")
    if received.status not in (301, 302, 303, 307, 308) or not location:
        return None
    try:
        place, url = read_url(str(request.url.join(location)))
    except (httpx.InvalidURL, ValueError):
        raise Failed(f"{request.place} redirects to something that is no address", retriable=False) from None
    if place != request.place:
        raise Denied("host", f"{request.place} redirects to {place}; redirects to another host are not followed")
    if received.status in (307, 308) or request.method in ("GET", "HEAD"):
        return Sent(request.method, place, url, request.headers, request.content)
    plain = {name: value for name, value in request.headers.items() if not name.startswith("content-")}
    return Sent("GET", place, url, plain, None)
