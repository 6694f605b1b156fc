"""HTTP clients for single addresses, such as the engine's."""

from __future__ import annotations

from urllib.parse import urlsplit

import httpx

_LOOPBACK = {"localhost", "127.0.0.1", "::1"}


def http_client_for(url: str, timeout_seconds: float) -> httpx.Client:
    """A client for one address. It keeps no connection, so it may be forgotten, and shared between threads.

    The system's proxies and certificates count only where they can matter: reading them is slow.
    """
    parts = urlsplit(url)
    return httpx.Client(
        timeout=timeout_seconds,
        limits=httpx.Limits(max_keepalive_connections=0),
        trust_env=parts.hostname not in _LOOPBACK,
        verify=parts.scheme == "https",
    )
