"""The agent's functions as one WSGI application."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import flask
import inngest
import inngest.flask

from core.clock import Clock
from core.orchestrator.door import SERVE_PATH, EngineDoor
from core.orchestrator.engine import Engine
from core.orchestrator.health import add_health
from core.orchestrator.registration import Registration
from core.orchestrator.sdk_app import SdkApp

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication


def create_app(
    client: inngest.Inngest,
    functions: Sequence[inngest.Function[Any]],
    engine: Engine,
    url: str,
    clock: Clock,
    *,
    pause: float = 10.0,
) -> tuple[WSGIApplication, Registration]:
    """The application, and what makes it known to the engine once it is started.

    `url` is this process's address as the engine reaches it; what a request calls itself is not believed.
    `pause` is the time in seconds between two looks at whether the engine still knows the app.
    """
    sdk_app = SdkApp(client.app_id, url, engine, clock)
    registration = Registration(engine, lambda: [sdk_app], pause=pause)
    app = flask.Flask(__name__)
    inngest.flask.serve(app, client, list(functions), serve_origin=url, serve_path=SERVE_PATH)
    add_health(app, registration)
    return EngineDoor(app, engine, clock), registration
