"""`POST /v0/gql`: the four queries that the SDK's own tests send, without a GraphQL implementation.

Each known root field that a query names is answered with all its fields, whichever of them the query selects.
"""

import base64
import json
import re
from collections.abc import Callable
from typing import Any

from aiohttp import web
from sqlalchemy import Connection

from engine.api.state import json_reply, state_of
from engine.formats.json_text import dumps, loads
from engine.history.runs import RunQuery, find_run, list_run_steps, list_runs

_NAME = re.compile(r"\w+")


async def post_graphql(request: web.Request) -> web.Response:
    """Answer a query with `{"data": {field: …}}`, or with `errors` when it names no known field."""
    try:
        body = loads(await request.read())
        query, variables = str(body["query"]), dict(body.get("variables") or {})
    except (ValueError, KeyError, TypeError):
        return json_reply({"errors": [{"message": "the body must be a GraphQL request"}]}, 400)
    fields = set(_NAME.findall(query.partition("{")[2])) & _FIELDS.keys()
    if not fields:
        return json_reply({"errors": [{"message": "this engine answers only the queries of the SDK's tests"}]})
    value = next((str(found) for found in variables.values()), "")
    data = await state_of(request).read(lambda connection: {name: _FIELDS[name](connection, value) for name in fields})
    return json_reply({"data": data})


def _run(connection: Connection, run_id: str) -> dict[str, Any] | None:
    run = find_run(connection, run_id)
    if run is None:
        return None
    spans = [
        {"name": step.name, "outputID": _output_id(run_id, step.step_id) if step.memo is not None else None}
        for step in list_run_steps(connection, run_id)
    ]
    return {"id": run_id, "output": run.output, "status": run.status, "trace": {"childrenSpans": spans}}


def _trigger(connection: Connection, run_id: str) -> dict[str, Any] | None:
    run = find_run(connection, run_id)
    return None if run is None else {"payloads": [dumps(event) for event in loads(run.events)]}


def _event(connection: Connection, event_id: str) -> dict[str, Any]:
    rows, _ = list_runs(connection, RunQuery(100, event_id=event_id, ascending=True))
    return {"functionRuns": [{"id": row.id} for row in rows]}


def _output(connection: Connection, output_id: str) -> dict[str, Any] | None:
    run_id, step_id = json.loads(base64.urlsafe_b64decode(output_id))
    memo = next((step.memo for step in list_run_steps(connection, run_id) if step.step_id == step_id), None)
    if memo is None:
        return None
    value = loads(memo)
    if isinstance(value, dict) and value.keys() == {"error"}:
        return {"data": None, "error": value["error"]}
    return {
        "data": dumps(value["data"] if isinstance(value, dict) and value.keys() == {"data"} else value),
        "error": None,
    }


def _output_id(run_id: str, step_id: str) -> str:
    return base64.urlsafe_b64encode(json.dumps([run_id, step_id]).encode()).decode()


_FIELDS: dict[str, Callable[[Connection, str], Any]] = {
    "event": _event,
    "run": _run,
    "runTraceSpanOutputByID": _output,
    "runTrigger": _trigger,
}
