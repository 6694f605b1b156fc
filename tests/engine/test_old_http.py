"""Apps behind servers that speak HTTP/1.0."""

import http.client
import socketserver
import threading
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

import inngest
import pytest

from tests.engine.app_server import AppServer
from tests.engine.clients import make_client
from tests.engine.conftest import ServeApp
from tests.engine.engine_process import EngineProcess
from tests.engine.sending import send, trigger

_FRAMING = {"Content-Length", "Connection"}


class OldProxy:
    """Copies the app's headers, says that the body comes in chunks, and sends it as it is, all in `pieces` writes."""

    def __init__(self, app: AppServer) -> None:
        target = urlsplit(app.url).netloc
        self.pieces = 1

        class Handler(socketserver.StreamRequestHandler):
            def handle(inner) -> None:
                method, path, _ = inner.rfile.readline().decode().split()
                headers = http.client.parse_headers(inner.rfile)
                body = inner.rfile.read(int(headers["content-length"] or 0))
                app_side = http.client.HTTPConnection(target)
                app_side.request(method, path, body, {"content-type": "application/json"})
                answer = app_side.getresponse()
                told = [f"HTTP/1.0 {answer.status} Fine", "Transfer-Encoding: chunked"]
                told += [
                    f"{k}: {v}" for k, v in answer.getheaders() if k.lower() not in {"content-length", "connection"}
                ]
                raw = "\r\n".join([*told, "", ""]).encode() + answer.read()
                app_side.close()
                size = -(-len(raw) // self.pieces)
                for at in range(0, len(raw), size):
                    inner.wfile.write(raw[at : at + size])
                    time.sleep(0.01)

        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def app_behind_proxy(engine: EngineProcess, serve: ServeApp) -> Iterator[tuple[inngest.Inngest, OldProxy]]:
    client = make_client(engine)

    @client.create_function(fn_id="fn", trigger=trigger(client), retries=0)
    def fn(ctx: inngest.ContextSync) -> list[str]:
        return [ctx.step.run("a", lambda: "HTTP/1.0 \r\ntransfer-encoding: none"), ctx.step.run("b", lambda: "b")]

    app = serve(engine, client, [fn])
    proxy = OldProxy(app)
    app.serve(client, [fn], origin=proxy.url)
    assert app.sync()["ok"] is True
    yield client, proxy
    proxy.stop()


@pytest.mark.parametrize("pieces", [1, 40])
def test_an_old_server_that_only_speaks_of_chunks_is_understood(
    engine: EngineProcess, app_behind_proxy: tuple[inngest.Inngest, OldProxy], pieces: int
) -> None:
    client, proxy = app_behind_proxy
    proxy.pieces = pieces
    (event_id,) = send(engine, client, {})
    run = engine.ended_run(event_id)
    assert (run["status"], run["output"]) == ("Completed", ["HTTP/1.0 \r\ntransfer-encoding: none", "b"])
