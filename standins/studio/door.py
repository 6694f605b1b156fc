"""Access to the studio: holders of the jobs key and, where a call says so, callers on this machine."""

import hmac
import ipaddress

from flask import Request

from standins.studio.problems import StudioProblem


def require_key(request: Request, jobs_key: str) -> None:
    """Raise StudioProblem 401 unless the call carries the jobs key."""
    if not has_key(request, jobs_key):
        raise StudioProblem(
            401, "unauthorized", "send Authorization: Bearer with the jobs key", {"WWW-Authenticate": "Bearer"}
        )


def require_loopback(request: Request, jobs_key: str) -> None:
    """Raise StudioProblem 403 unless the call carries the jobs key or comes from this machine and no web page."""
    host = request.host.rsplit(":", 1)[0].strip("[]")
    local = _is_loopback(request.remote_addr or "") and (host == "localhost" or _is_loopback(host))
    if not (local and "Origin" not in request.headers) and not has_key(request, jobs_key):
        raise StudioProblem(403, "loopback_only", "without the jobs key this is answered only on loopback")


def has_key(request: Request, jobs_key: str) -> bool:
    """Whether the call carries the jobs key."""
    scheme, _, given = request.headers.get("Authorization", "").partition(" ")
    return scheme.lower() == "bearer" and hmac.compare_digest(given.strip().encode(), jobs_key.encode())


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False
