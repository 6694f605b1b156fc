"""Ask a process whether it is ready."""

from __future__ import annotations

import urllib.error
import urllib.request

from app.supervision.process_spec import Ready

# A process that accepts but does not answer must not hold up the others for long.
_TIMEOUT_SECONDS = 1.0
# Never through a proxy: these are our own processes.
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def is_ready(ready: Ready) -> bool:
    """Ask once; whatever goes wrong on the way means not yet."""
    if callable(ready):
        return ready()
    try:
        with _OPENER.open(ready, timeout=_TIMEOUT_SECONDS) as answer:
            return bool(answer.status == 200)
    except (OSError, ValueError, urllib.error.URLError):
        return False
