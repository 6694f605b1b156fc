"""Running a function again with the events of an earlier run."""

from engine.event import Event
from engine.history.runs import event_ids, find_run
from engine.json_text import loads
from engine.runs.start import start_run
from engine.transaction import Transaction


class RerunError(Exception):
    """It cannot be run again; the message is for a person."""


def rerun(tx: Transaction, run_id: str) -> str:
    """Start a new run with the same events, whatever became of the old one; returns its id.

    Debounce, batching, rate limit and idempotency, which decide about events, do not apply; what governs runs does. A
    run that was invoked by another does not answer that one a second time.

    Raises:
        RerunError: the run or its function is gone, or another run has its singleton.
    """
    run = find_run(tx.connection, run_id)
    if run is None:
        raise RerunError("there is no such run")
    function = tx.registry.by_id.get(run.function_id)
    if function is None or function.archived:
        raise RerunError("its function is not registered any more")
    ids = event_ids(tx.connection, run)
    events = [_event(event_id, body) for event_id, body in zip(ids, loads(run.events), strict=True)]
    started = start_run(tx, function, events, cron=run.cron, batch_id=run.batch_id)
    if started is None:
        raise RerunError("another run of the function is under way, and it is a singleton that skips")
    return started


def _event(event_id: str, body: dict[str, object]) -> Event:
    data = body["data"]
    assert isinstance(data, dict)
    if isinstance(data.get("_inngest"), dict):
        origin = {key: value for key, value in data["_inngest"].items() if key != "correlation_id"}
        body = {**body, "data": {**data, "_inngest": origin}}
    return Event(event_id, str(body["name"]), int(str(body["ts"])), body)
