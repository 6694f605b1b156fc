"""Middleware (WSGI) that accepts only calls of the engine, with stricter checks than those of the SDK."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable
from datetime import timedelta
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from core.clock import Clock
from core.orchestrator.engine import Engine
from core.orchestrator.signature import clock_difference, find_signing_key

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

SERVE_PATH = "/api/inngest"
CALLERS_KEY = "loopwright.callers_key"
"""The key in the WSGI environment under which an accepted call has its signing key."""
MAX_BODY = 64 * 1024 * 1024
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1", "0.0.0.0"})


class EngineCallMiddleware:
    """Passes calls of the engine to `inner`. Only paths below `/api/inngest` are checked.

    With signing keys, every call needs a signature of the last five minutes, else it gets 401. An engine without keys
    cannot prove itself, so a call must be addressed to this machine and must not come from a page in a browser.
    """

    def __init__(self, inner: WSGIApplication, engine: Engine, clock: Clock) -> None:
        self._inner = inner
        self._engine = engine
        self._clock = clock

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        path = str(environ.get("PATH_INFO", ""))
        if path != SERVE_PATH and not path.startswith(SERVE_PATH + "/"):
            return self._inner(environ, start_response)
        if self._engine.keyed:
            body = _body(environ)
            if body is None:
                return refuse_call(start_response, "413 Content Too Large", f"a call may have {MAX_BODY} bytes")
            signature = str(environ.get("HTTP_X_INNGEST_SIGNATURE", ""))
            now = self._clock.now()
            key = find_signing_key(self._engine.signing_keys, body, signature, now)
            if key is None:
                return refuse_call(
                    start_response, "401 Unauthorized", _explain_signature(clock_difference(signature, now))
                )
            environ[CALLERS_KEY] = key
        elif "HTTP_ORIGIN" in environ or not _is_loopback(str(environ.get("HTTP_HOST", ""))):
            return refuse_call(
                start_response, "403 Forbidden", "without a signing key only this machine's engine may call"
            )
        return self._inner(environ, start_response)


def refuse_call(start_response: StartResponse, status: str, message: str) -> Iterable[bytes]:
    """Refuse a call with a reason."""
    body = json.dumps({"code": "refused", "message": message}).encode()
    start_response(status, [("Content-Type", "application/json"), ("Content-Length", str(len(body)))])
    return [body]


def _body(environ: WSGIEnvironment) -> bytes | None:
    """Read the whole body and put it back for the next reader; None when it is too long."""
    stream = environ["wsgi.input"]
    length = str(environ.get("CONTENT_LENGTH") or "")
    if length.isdecimal():
        if int(length) > MAX_BODY:
            return None
        body: bytes = stream.read(int(length))
    elif environ.get("wsgi.input_terminated"):
        body = stream.read(MAX_BODY + 1)
        if len(body) > MAX_BODY:
            return None
    else:
        body = b""
    environ["wsgi.input"] = io.BytesIO(body)
    environ["CONTENT_LENGTH"] = str(len(body))
    return body


def _explain_signature(off: timedelta | None) -> str:
    """Write the reason of a refusal, which the engine shows on the run, where people look first."""
    if off is None:
        return "the call has no valid signature of the engine"
    seconds = abs(off) // timedelta(seconds=1)
    side = "before" if off < timedelta() else "after"
    return (
        f"the call says that it was signed {seconds} s {side} this machine's time: it is an old one, or the engine's"
        " clock and this one's differ"
    )


def _is_loopback(host: str) -> bool:
    try:
        return (urlsplit(f"//{host}").hostname or "") in _LOOPBACK
    except ValueError:
        return False
