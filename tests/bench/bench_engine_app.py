"""The app that the engine's benchmark measures with, for gunicorn: `tests.bench.bench_engine_app:make()`.

Its one function takes an event `{token, steps}`, runs so many steps, and notes when what was called. Times are seconds
since the epoch.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from dataclasses import asdict, dataclass, field

import flask
import inngest
import inngest.flask

EVENT = "bench/go"


@dataclass
class Noted:
    """When the function was first called, its steps executed, and its end reached (0 before that)."""

    first: float = 0.0
    steps: list[float] = field(default_factory=list)
    end: float = 0.0


def make() -> flask.Flask:
    """`GET /noted` tells of every token since `POST /forget`; `GET /ended` how many have ended, and when the last."""
    server = os.environ["BENCH_SERVER"]
    quiet = logging.getLogger("bench")
    quiet.setLevel(logging.CRITICAL)
    client = inngest.Inngest(
        app_id=os.environ["BENCH_APP"],
        api_base_url=server,
        event_api_base_url=server,
        is_production=False,
        logger=quiet,
    )
    noted: dict[str, Noted] = {}
    lock = threading.Lock()

    @client.create_function(fn_id="steps", trigger=inngest.TriggerEvent(event=EVENT), retries=0)
    def steps(ctx: inngest.ContextSync) -> None:
        with lock:
            own = noted.setdefault(str(ctx.event.data["token"]), Noted())
        own.first = own.first or time.time()
        for number in range(int(str(ctx.event.data["steps"]))):
            ctx.step.run(f"step {number}", lambda: own.steps.append(time.time()))
        own.end = time.time()

    app = flask.Flask("bench")
    inngest.flask.serve(app, client, [steps])

    @app.get("/noted")
    def get_noted() -> flask.Response:
        with lock:
            return flask.jsonify({token: asdict(one) for token, one in noted.items()})

    @app.get("/ended")
    def get_ended() -> flask.Response:
        with lock:
            ends = [one.end for one in noted.values() if one.end]
        return flask.jsonify({"count": len(ends), "last": max(ends, default=0.0)})

    @app.post("/forget")
    def post_forget() -> flask.Response:
        with lock:
            noted.clear()
        return flask.jsonify({})

    return app
