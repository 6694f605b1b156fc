"""Runs that a person or a program starts directly."""

import json
from typing import Any

from sqlalchemy import select

from engine.event import INVOKED, Event, make_event
from engine.function import Function
from engine.rows import Row
from engine.runs.deliver import store_event
from engine.runs.start import start_run
from engine.tables import run_events
from engine.transaction import Transaction


def invoke(tx: Transaction, function: Function, data: dict[str, Any]) -> tuple[str, str | None]:
    """Start the function with this data; returns the event's id and the run's, None when its singleton is taken."""
    given = {key: value for key, value in data.items() if key != "_inngest"}
    origin = {"fn_id": function.slug, "invoke_type": "api", "name": INVOKED}
    event = make_event(tx.new_id(), INVOKED, {**given, "_inngest": origin}, tx.now)
    store_event(tx, event)
    return event.id, start_run(tx, function, [event])


def rerun(tx: Transaction, function: Function, run: Row) -> str | None:
    """Start a new run with the events of an old one; None when the function's singleton is taken."""
    positions = select(run_events.c.event_id).where(run_events.c.run_id == run.id).order_by(run_events.c.position)
    ids = [row.event_id for row in tx.run(positions)] or [run.event_id]
    bodies = json.loads(run.events)
    events = [
        Event(event_id, body["name"], body["ts"], _without_caller(body))
        for event_id, body in zip(ids, bodies, strict=True)
    ]
    return start_run(tx, function, events, batch_id=tx.new_id() if len(events) > 1 else None)


def _without_caller(body: dict[str, Any]) -> dict[str, Any]:
    """The event without the step that once waited for its run: a rerun has nobody to answer to."""
    origin = {key: value for key, value in (body["data"].get("_inngest") or {}).items() if key != "correlation_id"}
    data = {key: value for key, value in body["data"].items() if key != "_inngest"}
    return {**body, "data": {**data, "_inngest": origin} if origin else data}
