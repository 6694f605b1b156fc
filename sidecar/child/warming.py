"""What can be done before it is known which skill will be served, so that neither loading nor a call pays for it."""

from __future__ import annotations

import json

import flask
import inngest
import inngest.flask

from sidecar.child.frames import CallHead
from sidecar.child.running import asked
from skills.kit.door import door

# Every request of the SDK goes to the broker, which cares for no host name.
BROKER = "http://broker:80"
_PATH = "/api/inngest/warming"


def warm_client() -> inngest.Inngest:
    """A client whose app is named later, after one call through all of the SDK: its first is ten times as slow."""
    # No signature is asked for: only the sidecar holds the other end of the socket that calls come from.
    client = inngest.Inngest(
        app_id="warming", is_production=False, event_key="skill", api_base_url=BROKER, event_api_base_url=BROKER
    )

    @client.create_function(fn_id="warming", trigger=inngest.TriggerEvent(event="warming/asked"))
    def warming(ctx: inngest.ContextSync) -> int:
        return ctx.step.run("warming", lambda: 1)

    app = flask.Flask("warming")
    inngest.flask.serve(app, client, [warming], serve_path=_PATH)
    event = {"name": "warming/asked", "data": {}, "id": "1", "ts": 1}
    ctx = {"run_id": "1", "attempt": 0, "disable_immediate_execution": False, "stack": {"stack": []}}
    call = {"ctx": ctx, "event": event, "events": [event], "steps": {}, "use_api": False}
    head = CallHead(method="POST", path=_PATH, query="fnId=warming-warming&stepId=step", headers={})
    asked(app, head, json.dumps(call).encode())
    door.open_at("/run/warming.sock")
    door.http().build_request("POST", BROKER, json={})
    return client
