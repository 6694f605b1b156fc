"""Running a function again with the events of an earlier run."""

from dataclasses import dataclass
from typing import Any

from engine.event import Event
from engine.history.runs import event_ids, find_run
from engine.json_text import loads
from engine.runs.start import start_run
from engine.transaction import Transaction

UNKNOWN, GONE, SKIPPED = "not_found", "function_gone", "run_skipped"


@dataclass(frozen=True)
class NoRerun:
    """It cannot be run again; `code` is one of the three above, `reason` for a person."""

    code: str
    reason: str


def rerun(tx: Transaction, run_id: str) -> str | NoRerun:
    """Start a new run with the same events, whatever became of the old one; returns its id or why there is none.

    Debounce, batching, rate limit and idempotency, which decide about events, do not apply; what governs runs does. A
    run that was invoked by another does not answer that one a second time.
    """
    run = find_run(tx.connection, run_id)
    if run is None:
        return NoRerun(UNKNOWN, "there is no such run")
    function = tx.registry.by_id.get(run.function_id)
    if function is None or function.archived:
        return NoRerun(GONE, "its function is not registered any more")
    ids = event_ids(tx.connection, run)
    events = [_event(event_id, body) for event_id, body in zip(ids, loads(run.events), strict=True)]
    started = start_run(tx, function, events, cron=run.cron, batch_id=run.batch_id)
    if started is None:
        return NoRerun(SKIPPED, "another run of the function is under way, and it is a singleton that skips")
    return started


def _event(event_id: str, body: dict[str, Any]) -> Event:
    """The event without the step that once waited for its run: a rerun has nobody to answer to."""
    data = body["data"]
    if isinstance(data.get("_inngest"), dict):
        origin = {key: value for key, value in data["_inngest"].items() if key != "correlation_id"}
        body = {**body, "data": {**data, "_inngest": origin}}
    return Event(event_id, body["name"], body["ts"], body)
