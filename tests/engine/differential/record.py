"""Running all cases on a server and writing down what came of each."""

import logging
import time
import uuid
from collections.abc import Sequence
from typing import Any

import httpx
import inngest

from tests.engine.app_server import AppServer
from tests.engine.clients import close_client
from tests.engine.differential import failing, options, steps
from tests.engine.differential.kit import Case, Kit
from tests.engine.waiting import eventually

Record = dict[str, dict[str, Any]]
"""By case: `runs`, each with the places of its events, status and result, and `diary`, the steps as executed."""

_QUIET = logging.getLogger("tests.engine.app")
_QUIET.setLevel(logging.CRITICAL)
_SETTLED_S = 1.5
_BETWEEN_S = 0.2
# A server may register a wait some time after it has the answer to the step before.
_REGISTERED_S = 1.0


def record(server: str, *, within: float = 60) -> Record:
    """Register the app with the server at this address, send all events, and wait `within` s for every run to end."""
    client = inngest.Inngest(
        app_id=f"diff{uuid.uuid4().hex[:8]}",
        api_base_url=server,
        event_api_base_url=server,
        is_production=False,
        logger=_QUIET,
    )
    kit = Kit(client)
    for module in (steps, failing, options):
        module.add_cases(kit)
    kit.watch()
    app = AppServer(client, kit.functions).start()
    try:
        answer = app.sync()
        assert answer["ok"] is True, answer
        with httpx.Client(base_url=server, timeout=30) as http:
            return _run(kit, http, within)
    finally:
        app.stop()
        close_client(client)


def _run(kit: Kit, http: httpx.Client, within: float) -> Record:
    sent = {case.name: _send(http, case.events) for case in kit.cases}
    for case in kit.cases:
        for later in case.later:
            eventually(lambda: [later.after, 0] in kit.diary(case.name), within=within)  # noqa: B023 — called here
            time.sleep(_REGISTERED_S)
            _send(http, [{"name": kit.event(later.name), "data": later.data}])
    # What has not ended by then is not in the record.
    deadline = time.monotonic() + within
    while time.monotonic() < deadline and any(len(kit.ends(case.name)) < case.runs for case in kit.cases):
        time.sleep(0.1)
    time.sleep(_SETTLED_S)
    return {case.name: _outcome(kit, case, sent[case.name]) for case in kit.cases}


def _send(http: httpx.Client, events: Sequence[dict[str, Any]]) -> list[set[str]]:
    """The ids of each event: the server's and the sender's own."""
    ids: list[set[str]] = []
    for event in events:
        if ids:
            time.sleep(_BETWEEN_S)
        answer = http.post("/e/test", json=event)
        answer.raise_for_status()
        ids.append({*answer.json()["ids"], *([event["id"]] if "id" in event else [])})
    return ids


def _outcome(kit: Kit, case: Case, sent: list[set[str]]) -> dict[str, Any]:
    runs = []
    for end in kit.ends(case.name):
        started_by = [next(at for at, ids in enumerate(sent) if each in ids) for each in end.events]
        result = None if end.status == "Cancelled" else end.result
        runs.append({"events": started_by, "status": end.status, "result": result})
    diary = kit.diary(case.name)
    return {"runs": runs, "diary": diary if case.ordered else sorted(diary)}
