"""Reading runs back, and starting them through the API."""

import base64
import urllib.error
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote

import inngest
import pytest

from tests.engine.clients import make_client
from tests.engine.conftest import ServeApp
from tests.engine.engine_process import EngineProcess


def numbered(client: inngest.Inngest) -> inngest.Function[Any]:
    @client.create_function(fn_id="fn", trigger=inngest.TriggerEvent(event=f"{client.app_id}/go"), retries=0)
    def fn(ctx: inngest.ContextSync) -> object:
        if ctx.event.data.get("fails"):
            raise ValueError("told to")
        return ctx.event.data.get("n")

    return fn


def refused(engine: EngineProcess, method: str, path: str) -> int:
    with pytest.raises(urllib.error.HTTPError) as caught:
        engine.request(method, path)
    caught.value.close()
    return caught.value.code


def test_runs_of_a_function_page_by_page(engine: EngineProcess, serve: ServeApp) -> None:
    # Given seven runs that ended, one of which failed
    client = make_client(engine)
    serve(engine, client, [numbered(client)])
    began = datetime.now(UTC) - timedelta(seconds=1)
    name = f"{client.app_id}/go"
    ids = [engine.send({"name": name, "data": {"n": n, "fails": n == 6}})[0] for n in range(7)]
    run_ids = [engine.ended_run(event_id)["run_id"] for event_id in ids]
    root = f"/v2/apps/{client.app_id}/functions/fn/runs"
    since = f"from={quote(began.isoformat())}"

    # When they are read in pages, in either direction and by each time
    def pages(query: str) -> list[str]:
        found: list[str] = []
        cursor = ""
        while True:
            answer = engine.get(f"{root}?{query}&limit=3{cursor}")
            found += [run["id"] for run in answer["data"]]
            if not answer["page"].get("hasMore"):
                return found
            cursor = f"&cursor={quote(answer['page']['cursor'])}"

    # Then all come, once each, in order
    assert pages(f"{since}&order=ASC") == run_ids
    assert pages(since) == run_ids[::-1]
    for field in ("startedAt", "endedAt"):
        assert sorted(pages(f"timeField={field}&order=ASC")) == sorted(run_ids)
    # And filters hold
    (failed,) = engine.get(f"{root}?status=FAILED&includeOutput=true")["data"]
    assert failed["output"]["error"]["message"] == "told to"
    assert failed["durationMs"].isdigit()
    assert "data" not in engine.get(f"{root}?until={quote(began.isoformat())}")
    assert len(engine.get(f"/v2/runs?appId={client.app_id}&functionId=fn&limit=100")["data"]) == 7


@pytest.mark.parametrize(
    "query",
    [
        "limit=0",
        "limit=101",
        "limit=x",
        "status=LOST",
        "timeField=never",
        "order=UP",
        "from=soon",
        "cursor=%21",
        f"cursor={base64.urlsafe_b64encode(b'5').decode()}",
        "functionId=fn",
    ],
)
def test_a_wrong_question_is_told_so(engine: EngineProcess, query: str) -> None:
    assert refused(engine, "GET", f"/v2/runs?{query}") == 400


def test_unknown_things_are_not_found(engine: EngineProcess) -> None:
    for path in ("/v1/runs/x", "/v1/events/x", "/v2/runs/x", "/v2/runs/x/trace", "/v2/apps/nobody"):
        assert refused(engine, "GET", path) == 404
    assert refused(engine, "DELETE", "/v1/runs/x") == 404
    assert refused(engine, "POST", "/v2/runs/x/cancel") == 404
    assert refused(engine, "POST", "/v2/runs/x/rerun") == 404
    assert refused(engine, "GET", "/v0/runs/x/batch") == 410


def test_functions_are_started_and_run_again_through_the_api(engine: EngineProcess, serve: ServeApp) -> None:
    # Given a function
    client = make_client(engine)
    serve(engine, client, [numbered(client)])
    # When it is started in both ways, and one run again
    first = engine.request("POST", f"/v2/apps/{client.app_id}/functions/fn/invoke", {"data": {"n": 1}})["data"]["runId"]
    event_id = engine.request("POST", f"/invoke/{client.app_id}-fn", {"data": {"n": 2}})["id"]
    second = engine.ended_run(event_id)
    again = engine.request("POST", f"/v2/runs/{second['run_id']}/rerun", {})["data"]["runId"]
    # Then each run has its data
    outputs = []
    for run_id in (first, second["run_id"], again):
        found = engine.get(f"/v1/runs/{run_id}")["data"]
        outputs.append(engine.ended_run(found["event_id"])["output"] if run_id == first else found)
    assert outputs[0] == 1
    assert again != second["run_id"]
    # And a run that has ended cannot be cancelled
    assert refused(engine, "POST", f"/v2/runs/{second['run_id']}/cancel") == 409
    assert refused(engine, "POST", f"/v2/apps/{client.app_id}/functions/none/invoke") == 404


def test_health_and_kind(engine: EngineProcess) -> None:
    assert engine.get("/v2/health")["data"] == {"status": "ok"}
    assert engine.get("/api/v2/health")["data"] == {"status": "ok"}
    assert engine.get("/dev")["authed"] is False
