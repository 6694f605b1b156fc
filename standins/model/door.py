"""Access to the stand-in model: holders of the key; without a key, this machine alone and no web page on it."""

from __future__ import annotations

import hmac
import ipaddress

from flask import Request

from standins.model.problems import ModelProblem


def require_key(request: Request, key: str | None) -> None:
    """Raise ModelProblem 401 unless the caller has the key; without a key, 403 unless it is on this machine."""
    if key is None:
        require_loopback(request, None)
    elif not _has_key(request, key):
        raise ModelProblem(401, "invalid_api_key", "send Authorization: Bearer with this server's key")


def require_loopback(request: Request, key: str | None) -> None:
    """Raise ModelProblem 403 unless the call comes from this machine and not through a web page, or carries the key."""
    host = request.host.rsplit(":", 1)[0].strip("[]")
    local = _is_loopback(request.remote_addr or "") and (host == "localhost" or _is_loopback(host))
    if (not local or "Origin" in request.headers) and not (key is not None and _has_key(request, key)):
        raise ModelProblem(403, "loopback_only", "without the key this is answered only on loopback")


def _has_key(request: Request, key: str) -> bool:
    scheme, _, given = request.headers.get("Authorization", "").partition(" ")
    return scheme.lower() == "bearer" and hmac.compare_digest(given.strip().encode(), key.encode())


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False
