"""Destination of a request: scheme, host and port in one canonical spelling, so that they can be compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import httpx

from sidecar.broker.errors import RequestFailed

_PORTS = {"http": 80, "https": 443}
LONGEST_URL = 8000


@dataclass(frozen=True)
class Destination:
    """A scheme, host and port. `host` is lower case, in ASCII form, without a dot at the end."""

    scheme: str
    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.scheme}://{_bracketed(self.host)}:{self.port}"

    @property
    def netloc(self) -> str:
        """The value of the `Host` header."""
        host = _bracketed(self.host)
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    def is_declared_as(self, declared: str) -> bool:
        """Return whether a host of the manifest, `name` or `name:port`, means this destination."""
        try:
            url = httpx.URL(f"{self.scheme}://{declared}")
        except (httpx.InvalidURL, ValueError):
            return False
        if url.userinfo or url.raw_path != b"/" or not url.host:
            return False
        return (_canonical_host(url), url.port or _PORTS[self.scheme]) == (self.host, self.port)


def read_url(url: str, params: Any = None) -> tuple[Destination, httpx.URL]:
    """Parse a skill's address, with `params` in place of its query if there are any; raises RequestFailed."""
    try:
        parsed = httpx.URL(url, params=params) if params else httpx.URL(url)
    except (httpx.InvalidURL, ValueError, TypeError, UnicodeError) as error:
        raise RequestFailed(f"this is not an address: {error}", retriable=False) from None
    if parsed.scheme not in _PORTS or not parsed.host:
        raise RequestFailed("an address begins with http:// or https:// and names a host", retriable=False)
    if parsed.userinfo:
        raise RequestFailed("an address must not contain a user name; send a header instead", retriable=False)
    if len(str(parsed)) > LONGEST_URL:
        raise RequestFailed(f"an address has at most {LONGEST_URL} characters", retriable=False)
    return Destination(parsed.scheme, _canonical_host(parsed), parsed.port or _PORTS[parsed.scheme]), parsed


def declares_port(declared: str) -> bool:
    """Return whether a host of the manifest names a port; else it means the usual ports of http and https."""
    return httpx.URL(f"//{declared}").port is not None


def _canonical_host(url: httpx.URL) -> str:
    return url.raw_host.decode("ascii").lower().rstrip(".")


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
