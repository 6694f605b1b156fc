"""HTTP clients for single addresses, such as that of the engine."""

from __future__ import annotations

from urllib.parse import urlsplit

import httpx

_LOOPBACK = {"localhost", "127.0.0.1", "::1"}


def http_client_for(url: str, timeout_seconds: float) -> httpx.Client:
    """Make a client for one address; it keeps no connections, so it needs no closing, and threads may share it.

    Proxies of the environment and certificates are read only for addresses that may need them, since that is slow.
    """
    parts = urlsplit(url)
    return httpx.Client(
        timeout=timeout_seconds,
        limits=httpx.Limits(max_keepalive_connections=0),
        trust_env=parts.hostname not in _LOOPBACK,
        verify=parts.scheme == "https",
    )
