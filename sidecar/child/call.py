"""One call of the engine, answered in a forked process."""

from __future__ import annotations

import contextlib
import io
import json
import resource
import socket
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from sidecar.child.attempts import Attempts
from sidecar.child.ipc import CallHead, ReplyHead, receive_frame, send_frame

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication, WSGIEnvironment


def answer_run_call(
    connection: socket.socket,
    app: WSGIApplication,
    set_run_id: Callable[[str], None],
    attempts: Attempts,
    cpu_seconds: int,
) -> None:
    """Read the call from `connection` and write the answer to it; `set_run_id` receives the run's id first.

    Whatever the skill raises becomes an answer. What it does to its process is seen by the process that forked this
    one.
    """
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + 1))
    head, body = receive_frame(connection, CallHead)
    set_run_id(_read_run_id(body))
    with attempts.watching():
        status, headers, answer = call_app(app, head, body)
    # The sidecar hangs up once it has the answer, and that ends this process, so output is flushed before.
    for stream in (sys.stdout, sys.stderr):
        # A skill may have closed the stream or replaced it.
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()
    send_frame(connection, ReplyHead(status=status, headers=headers, tried=attempts.noted()), answer)


def _read_run_id(body: bytes) -> str:
    try:
        return str(json.loads(body)["ctx"]["run_id"])
    except (ValueError, TypeError, KeyError):
        return ""


def call_app(app: WSGIApplication, head: CallHead, body: bytes) -> tuple[int, dict[str, str], bytes]:
    """Call the app and return status, headers with lower-case names, and body.

    Whatever the app raises becomes an error answer.
    """
    started: list[tuple[str, list[tuple[str, str]]]] = []

    def start(status: str, headers: list[tuple[str, str]], *_: object) -> Callable[[bytes], object]:
        started.append((status, headers))
        return lambda _: None

    try:
        parts: Iterable[bytes] = app(_wsgi_environ(head, body), start)
        answer = b"".join(parts)
        status, headers = started[-1]
        return int(status.split()[0]), {name.lower(): value for name, value in headers}, answer
    except BaseException as error:  # noqa: BLE001 - the boundary to foreign code: SystemExit passes through the SDK
        error_body = {"code": "skill_raised", "name": type(error).__name__, "message": repr(error)[:500], "stack": None}
        return 500, {"content-type": "application/json"}, json.dumps(error_body).encode()


def _wsgi_environ(head: CallHead, body: bytes) -> WSGIEnvironment:
    environ: dict[str, Any] = {
        "REQUEST_METHOD": head.method,
        "SCRIPT_NAME": "",
        "PATH_INFO": head.path,
        "QUERY_STRING": head.query,
        "SERVER_NAME": "skill",
        "SERVER_PORT": "80",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "CONTENT_LENGTH": str(len(body)),
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(body),
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": False,
        "wsgi.multiprocess": True,
        "wsgi.run_once": True,
    }
    for name, value in head.headers.items():
        key = name.upper().replace("-", "_")
        environ[key if key == "CONTENT_TYPE" else f"HTTP_{key}"] = value
    return environ
