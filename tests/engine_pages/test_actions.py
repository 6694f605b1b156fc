"""What the pages' buttons do."""

from __future__ import annotations

from typing import Any

import pytest

from tests.engine.engine_process import EngineProcess
from tests.engine.waiting import eventually
from tests.engine_pages.visitor import Visitor


def held_run(engine: EngineProcess, name: str) -> dict[str, Any]:
    """A run that waits for an event."""
    (event_id,) = engine.send(
        {"name": "order/placed", "data": {"id": name, "total": 1, "customer": name, "hold": True}}
    )

    def waits() -> dict[str, Any] | None:
        found = engine.runs_of(event_id)
        trace = engine.get(f"/v2/runs/{found[0]['run_id']}/trace")["data"]["rootSpan"] if found else {"children": []}
        return found[0] if any(span["name"] == "await delivery" for span in trace["children"]) else None

    return eventually(waits)


def test_a_run_is_cancelled_once(shop_engine: EngineProcess, visitor: Visitor) -> None:
    run_id = held_run(shop_engine, "cancel")["run_id"]
    assert "Cancel" in visitor.words(f"/ui/runs/{run_id}")
    answer = visitor.press(f"/ui/runs/{run_id}/cancel")
    assert answer.json() == {"goto": f"/ui/runs/{run_id}"}
    assert shop_engine.get(f"/v1/runs/{run_id}")["data"]["status"] == "Cancelled"
    # Then it cannot be again, nor can what is not there
    for path in (f"/ui/runs/{run_id}/cancel", "/ui/runs/nothing/cancel"):
        answer = visitor.press(path)
        assert answer.status_code == 409
        assert answer.json() == {"error": "the run has already ended"}


def test_a_run_is_run_again_with_its_event(shop_engine: EngineProcess, visitor: Visitor) -> None:
    # Given a run that ended
    (event_id,) = shop_engine.send({"name": "order/placed", "data": {"id": "r", "total": 7, "customer": "r"}})
    first = shop_engine.ended_run(event_id)
    # When it is run again
    address = visitor.press(f"/ui/runs/{first['run_id']}/rerun").json()["goto"]
    second = address.rpartition("/")[2]
    assert second != first["run_id"]
    # Then the new run does the same for the same event, and the old one stays as it is
    again = eventually(lambda: (run := shop_engine.get(f"/v1/runs/{second}")["data"])["ended_at"] and run)
    assert again["output"] == first["output"]
    assert {run["run_id"] for run in shop_engine.runs_of(event_id)} == {first["run_id"], second}
    assert shop_engine.get(f"/v1/runs/{first['run_id']}")["data"] == first
    assert visitor.press("/ui/runs/nothing/rerun").status_code == 409


def test_a_batch_is_run_again_whole(shop_engine: EngineProcess, visitor: Visitor) -> None:
    # Given a run of two events, which the page of either shows
    ids = shop_engine.send({"name": "pair/half", "data": {"n": 1}}, {"name": "pair/half", "data": {"n": 2}})
    first = shop_engine.ended_run(ids[0])
    for event_id in ids:
        assert first["run_id"] in visitor.text(f"/ui/events/{event_id}")
    assert "batch" in visitor.words(f"/ui/events/{ids[1]}")
    # When it is run again, then with both
    second = visitor.press(f"/ui/runs/{first['run_id']}/rerun").json()["goto"].rpartition("/")[2]
    again = eventually(lambda: (run := shop_engine.get(f"/v1/runs/{second}")["data"])["ended_at"] and run)
    assert again["output"] == [1, 2]
    for event_id in ids:
        assert second in visitor.text(f"/ui/events/{event_id}")


def test_the_rerun_of_an_invoked_run_answers_nobody(shop_engine: EngineProcess, visitor: Visitor) -> None:
    # Given an invoked run that ended
    run = held_run(shop_engine, "invoked")
    (child,) = [one["id"] for one in shop_engine.get("/v2/apps/shop/functions/receipt/runs?limit=1")["data"]]
    # When it is run again
    second = visitor.press(f"/ui/runs/{child}/rerun").json()["goto"].rpartition("/")[2]
    done = eventually(lambda: (run := shop_engine.get(f"/v1/runs/{second}")["data"])["ended_at"] and run)
    # Then its event names no step to answer, and the run that had invoked it still waits
    assert done["output"] == {"mailed": "ada"}
    assert "correlation_id" not in visitor.get(f"/ui/runs/{second}/events.txt").text
    assert "correlation_id" in visitor.get(f"/ui/runs/{child}/events.txt").text
    assert shop_engine.get(f"/v1/runs/{run['run_id']}")["data"]["status"] == "Running"


def test_an_event_is_sent(shop_engine: EngineProcess, visitor: Visitor) -> None:
    answer = visitor.press("/ui/events", {"name": "receipt/asked", "data": {"to": "bo"}})
    event_id = answer.json()["goto"].rpartition("/")[2]
    assert shop_engine.ended_run(event_id)["output"] == {"mailed": "bo"}


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"name": "", "data": {}}, "an event must have a name"),
        ({"name": "inngest/x", "data": {}}, "reserved"),
        ({"name": "a/b", "data": [1]}, "must be an object"),
        ([{"name": "a/b"}, {"name": "a/c"}], "one event at a time"),
        ([], "one event at a time"),
    ],
)
def test_a_wrong_event_is_refused_with_its_reason(visitor: Visitor, body: object, told: str) -> None:
    answer = visitor.press("/ui/events", body)
    assert answer.status_code == 400
    assert told in answer.json()["error"]


def test_nothing_changes_without_the_pages_token(shop_engine: EngineProcess, visitor: Visitor) -> None:
    run_id = held_run(shop_engine, "token")["run_id"]
    own = shop_engine.url
    cancel = f"/ui/runs/{run_id}/cancel"
    refused = [
        visitor.client.post(cancel),
        visitor.client.post(cancel, headers={"Origin": own}),
        visitor.client.post(cancel, headers=[(b"X-Engine-Token", "é".encode())]),
        visitor.press(cancel, Origin="http://evil.example"),
        visitor.press(cancel, Origin="null"),
        visitor.press(cancel, Origin=own.replace("127.0.0.1", "localhost")),
        visitor.press(cancel, Sec_Fetch_Site="cross-site"),
        visitor.press(cancel, Sec_Fetch_Site="same-site"),
        visitor.press(cancel, Host="evil.example", Origin="http://evil.example"),
    ]
    assert [answer.status_code for answer in refused] == [403] * len(refused)
    assert shop_engine.get(f"/v1/runs/{run_id}")["data"]["status"] == "Running"
    # And the API's own refusal of web pages stands: only the pages' addresses know an origin
    assert visitor.client.post("/e/x", json={"name": "a/b"}, headers={"Origin": own}).status_code == 403
    assert visitor.client.get("/v2/runs", headers={"Origin": own}).status_code == 403
    assert visitor.get("/ui/runs", Host="evil.example").status_code == 403
    assert visitor.get("/ui/runs", Origin="http://evil.example").status_code == 403
    # Then with the token, from the page's own origin, it does
    assert visitor.press(cancel, Origin=own, Sec_Fetch_Site="same-origin").status_code == 200
