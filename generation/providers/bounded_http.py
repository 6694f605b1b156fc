"""HTTP answers that are bounded in time and size, without redirects."""

from __future__ import annotations

import ipaddress
import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import httpx

from generation.providers.limits import limited, within

MOST_JSON = 1 << 20
NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.UnsupportedProtocol, httpx.ProxyError)


class TooMuchError(Exception):
    """The answer is longer than it may be."""


@dataclass(frozen=True)
class Answer:
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


def client(base_url: str, seconds: float) -> httpx.Client:
    """A client of one service. One on this machine is reached without a proxy and, over http, without certificates."""
    limits = httpx.Timeout(seconds, connect=min(seconds, 5.0))
    where = urlsplit(base_url)
    near = is_loopback(where.hostname or "")
    plain = near and where.scheme == "http"
    return limited(httpx.Client(timeout=limits, follow_redirects=False, trust_env=not near, verify=not plain))


def ask(http: httpx.Client, method: str, url: str, *, seconds: float, most: int = MOST_JSON, **request: Any) -> Answer:
    """One request, sent once, and over within so many seconds, headers and all.

    Raises httpx.HTTPError, which a lack of time is too, or TooMuchError.
    """
    chunks: list[bytes] = []
    size = 0
    with within(seconds), http.stream(method, url, **request) as answer:
        for chunk in answer.iter_bytes():
            chunks.append(chunk)
            size += len(chunk)
            if size > most:
                raise TooMuchError(f"the answer is longer than {most} bytes")
        return Answer(answer.status_code, answer.headers, b"".join(chunks))


def origin(url: str) -> tuple[str, str, int]:
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
