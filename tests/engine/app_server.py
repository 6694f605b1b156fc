"""A real Flask app with the real SDK, served from a thread of the test."""

import json
import socket
import threading
import time
import urllib.request
from typing import Any

import flask
import inngest
import inngest.flask
from werkzeug.serving import BaseWSGIServer, make_server

from tests.engine.engine_process import free_port


def _bound(port: int, within: float = 30) -> socket.socket:
    """Take the port again; while nobody listened, the machine may have lent it to an outgoing connection."""
    ends = time.monotonic() + within
    while True:
        taken = socket.socket()
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            taken.bind(("127.0.0.1", port))
            taken.listen(128)
            return taken
        except OSError:
            taken.close()
            if time.monotonic() > ends:
                raise
            time.sleep(0.05)


class AppServer:
    """Functions of one app, reachable by an engine; may be stopped and started again on its port."""

    def __init__(self, client: inngest.Inngest, functions: list[inngest.Function[Any]]) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}/api/inngest"
        self.serve(client, functions)
        self._server: BaseWSGIServer | None = None

    def serve(self, client: inngest.Inngest, functions: list[inngest.Function[Any]], origin: str | None = None) -> None:
        """Answer for these functions from now on; `origin` is where the engine is to call, when not here."""
        self.client = client
        self._flask = flask.Flask("app")
        inngest.flask.serve(self._flask, client, functions, serve_origin=origin)

    def start(self) -> "AppServer":
        with _bound(self.port) as bound:
            self._server = make_server("127.0.0.1", self.port, self._answer, threaded=True, fd=bound.fileno())
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def answer_as_stranger(self) -> None:
        """Be a server that is no SDK."""
        self._flask = flask.Flask("stranger")

    def _answer(self, environ: Any, begin: Any) -> Any:
        return self._flask(environ, begin)

    def stop(self) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def sync(self) -> dict[str, Any]:
        """PUT the serve URL, as an operator would; returns the SDK's answer."""
        request = urllib.request.Request(
            self.url, method="PUT", data=b"{}", headers={"content-type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=30) as response:
            answer: dict[str, Any] = json.loads(response.read())
            return answer
