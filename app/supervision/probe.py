"""Readiness of a process, asked over HTTP or by a function."""

from __future__ import annotations

import urllib.error
import urllib.request

from app.supervision.process_spec import Ready

# Short, so that a process that accepts but does not answer cannot delay the others.
_TIMEOUT_SECONDS = 1.0
# No proxy: these are our own processes.
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def is_ready(ready: Ready) -> bool:
    """Ask once; any failure means not ready yet."""
    if callable(ready):
        return ready()
    try:
        with _OPENER.open(ready, timeout=_TIMEOUT_SECONDS) as answer:
            return bool(answer.status == 200)
    except (OSError, ValueError, urllib.error.URLError):
        return False
