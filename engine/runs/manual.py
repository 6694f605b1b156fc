"""Runs that a person or a program starts directly."""

from typing import Any

from engine.event import INVOKED, make_event
from engine.function import Function
from engine.runs.start import start_run
from engine.transaction import Transaction


def invoke(tx: Transaction, function: Function, data: dict[str, Any]) -> tuple[str, str | None]:
    """Start the function with this data; returns the event's id and the run's, None when its singleton is taken."""
    given = {key: value for key, value in data.items() if key != "_inngest"}
    origin = {"fn_id": function.slug, "invoke_type": "api", "name": INVOKED}
    event = make_event(tx.new_id(), INVOKED, {**given, "_inngest": origin}, tx.now)
    tx.outbox.append(event)
    return event.id, start_run(tx, function, [event])
