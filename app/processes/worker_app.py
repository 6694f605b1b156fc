"""The agent's functions as one WSGI application, and its registration at the engine."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import flask
import inngest
import inngest.flask

from core.clock import Clock
from core.orchestrator.engine import Engine
from core.orchestrator.health import add_health
from core.orchestrator.middleware import CALLERS_KEY, SERVE_PATH, EngineCallMiddleware
from core.orchestrator.registration import Registration, SdkApp
from core.orchestrator.signature import SIGNATURE_HEADER, sign_body

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment


def create_worker_app(
    client: inngest.Inngest,
    functions: Sequence[inngest.Function[Any]],
    engine: Engine,
    url: str,
    clock: Clock,
    *,
    pause: float = 10.0,
) -> tuple[WSGIApplication, Registration]:
    """Return the application and its registration at the engine, which the caller starts.

    `url` is this process's address as the engine reaches it; the Host of a request is not trusted.
    `pause` is the time in seconds between two checks that the engine still knows the app.
    """
    sdk_app = SdkApp(client.app_id, url, engine, clock)
    registration = Registration(engine, lambda: [sdk_app], pause=pause)
    app = flask.Flask(__name__)
    inngest.flask.serve(app, client, list(functions), serve_origin=url, serve_path=SERVE_PATH)
    add_health(app, registration)
    if not engine.keyed:
        return EngineCallMiddleware(app, engine, clock), registration
    calls = _trusting_app(client, functions, engine, url, clock)

    def by_method(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        checked = environ["REQUEST_METHOD"] == "POST" and CALLERS_KEY in environ
        return (calls if checked else app)(environ, start_response)

    return EngineCallMiddleware(by_method, engine, clock), registration


def _trusting_app(
    client: inngest.Inngest, functions: Sequence[inngest.Function[Any]], engine: Engine, url: str, clock: Clock
) -> flask.Flask:
    """Return an application for calls whose signature the middleware has checked, and sign its responses.

    The SDK would check each signature again, and takes ten times as long.
    """
    trusting = inngest.Inngest(
        app_id=client.app_id,
        api_base_url=client.api_origin,
        event_api_base_url=client.event_api_origin,
        env=client.env,
        signing_key=engine.signing_keys[0],
        is_production=False,
    )
    app = flask.Flask(__name__)
    inngest.flask.serve(app, trusting, list(functions), serve_origin=url, serve_path=SERVE_PATH)

    @app.after_request
    def signed(response: flask.Response) -> flask.Response:
        response.headers[SIGNATURE_HEADER] = sign_body(
            flask.request.environ[CALLERS_KEY], response.get_data(), clock.now()
        )
        response.headers["X-Inngest-Expected-Server-Kind"] = "cloud"
        return response

    return app
