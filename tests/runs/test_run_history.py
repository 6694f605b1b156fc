"""Run history on every engine: the same client, the same shapes."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import inngest
import pytest

from core.errors import InvalidError, NotFoundError, RefusedError, UnavailableError
from core.orchestrator.run_history import RunHistory
from tests.runs.probe_app import probe_app
from tests.support.engines import RunningEngine, every_engine
from tests.support.waiting import until


@every_engine
def test_runs_steps_and_errors_are_told(any_engine: RunningEngine) -> None:
    with probe_app(any_engine, "told") as app:
        assert app.registration.settled.wait(20)
        history = RunHistory(any_engine.url, any_engine.signing_key)
        assert history.list(function="told/three") == {"items": [], "next": None}

        app.client.send_sync(inngest.Event(name="told/go", data={"q": "é"}))

        def ended() -> dict[str, dict[str, Any]]:
            runs = {run["function"]: run for run in history.list()["items"] if run["app"] == "told"}
            done = {name for name, run in runs.items() if run["status"] in {"completed", "failed"}}
            return runs if done >= {"three", "bad"} and runs.get("held", {}).get("status") == "running" else {}

        runs = until("two runs ended and one running", ended, 60, 0.3)
        assert runs["three"]["status"] == "completed"
        assert runs["bad"]["status"] == "failed"
        assert runs["held"]["ended_at"] is None
        for run in (runs["three"], runs["bad"]):
            assert set(run) == {"id", "app", "function", "status", "started_at", "ended_at"}
            assert datetime.fromisoformat(run["started_at"]) <= datetime.fromisoformat(run["ended_at"])

        def detail(name: str) -> dict[str, Any]:
            return history.get(runs[name]["id"])

        def three_told() -> dict[str, Any]:
            three = detail("three")
            told = {step["name"]: step for step in three["steps"]}
            return three if set(told) == {"first", "nap", "second"} and told["second"]["output"] else {}

        three = until("the steps of the run", three_told, 20, 0.3)
        assert three["event"]["name"] == "told/go"
        assert three["event"]["data"] == {"q": "é"}
        assert (three["output"], three["error"]) == ([{"x": 1}, "two"], None)
        assert [step["name"] for step in three["steps"]] == ["first", "nap", "second"]
        first, nap, second = three["steps"]
        assert (first["output"], first["attempts"], first["error"]) == ({"x": 1}, 1, None)
        assert nap["error"] is None
        assert (second["output"], second["attempts"], second["error"]) == ("two", 2, None)
        assert len({step["id"] for step in three["steps"]}) == 3
        assert all(datetime.fromisoformat(step["started_at"]) for step in three["steps"])

        def bad_told() -> dict[str, Any]:
            bad = detail("bad")
            return bad if bad["steps"] and bad["steps"][0]["error"] else {}

        bad = until("the failed step", bad_told, 20, 0.3)
        assert bad["output"] is None
        assert "this never works" in bad["error"]["message"]
        assert [(step["name"], step["attempts"]) for step in bad["steps"]] == [("never", 2)]
        assert "this never works" in bad["steps"][0]["error"]["message"]


@every_engine
def test_lists_are_narrowed_and_paged(any_engine: RunningEngine) -> None:
    with probe_app(any_engine, "many") as app:
        assert app.registration.settled.wait(20)
        history = RunHistory(any_engine.url, any_engine.signing_key)
        app.hold.set()
        app.client.send_sync([inngest.Event(name="many/go", data={"n": n}) for n in range(3)])

        def count(**narrowed: Any) -> int:
            return len([run for run in history.list(**narrowed)["items"] if run["app"] == "many"])

        until("all runs", lambda: count() == 9, 30, 0.3)
        until("the held runs", lambda: count(function="held", status="completed") == 3, 30, 0.3)
        assert count(function="many/held") == 3
        assert count(function="other/held") == 0
        assert count(function="nothing") == 0
        assert count(since="2030-01-01T00:00:00Z") == 0
        assert count(since="2020-01-01T00:00:00+02:00") == 9
        assert count(function="held", status="cancelled") == 0
        held = history.list(function="many/held")["items"]
        events = [history.event(run["id"]) for run in held]
        assert sorted((event["name"], event["data"]["n"]) for event in events) == [("many/go", n) for n in range(3)]

        seen: list[str] = []
        cursor: str | None = None
        for _ in range(8):
            page = history.list(cursor=cursor, limit=4)
            assert len(page["items"]) <= 4
            seen += [run["id"] for run in page["items"] if run["app"] == "many"]
            cursor = page["next"]
            if cursor is None:
                break
        assert (len(seen), len(set(seen)), cursor) == (9, 9, None)


@every_engine
def test_what_is_not_there_is_not_found(any_engine: RunningEngine) -> None:
    history = RunHistory(any_engine.url, any_engine.signing_key)
    for run_id in ("01M8KXSMFPKEEEPYWBN6CX2N6J", "nothing", "../apps", ""):
        with pytest.raises(NotFoundError):
            history.get(run_id)
        assert history.event(run_id) is None
    with pytest.raises(InvalidError):
        history.list(status="happy")


@every_engine
def test_a_wrong_key_is_named(any_engine: RunningEngine) -> None:
    if any_engine.signing_key is None:
        pytest.skip("a keyless engine takes every key")
    with pytest.raises(RefusedError, match="INNGEST_SIGNING_KEY"):
        RunHistory(any_engine.url, "ff" * 32).list()


def test_an_engine_that_is_not_there_is_unavailable() -> None:
    with pytest.raises(UnavailableError):
        RunHistory("http://127.0.0.1:1", None).list()
