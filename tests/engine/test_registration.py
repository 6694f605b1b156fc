"""POST /fn/register: what is taken in, what is refused, what becomes of functions that leave."""

import json
import urllib.error
import uuid
from datetime import timedelta
from typing import Any

import inngest
import pytest

from tests.engine.clients import make_client
from tests.engine.conftest import ServeApp
from tests.engine.engine_process import EngineProcess
from tests.engine.waiting import eventually


def config(slug: str = "app-fn", **options: Any) -> dict[str, Any]:
    url = f"http://127.0.0.1:9/api?fnId={slug}&stepId=step"
    steps = {
        "step": {"id": "step", "name": "step", "retries": {"attempts": 3}, "runtime": {"type": "http", "url": url}}
    }
    return {"id": slug, "name": slug, "triggers": [{"event": "test/never"}], "steps": steps, **options}


def register(engine: EngineProcess, *functions: dict[str, Any], app: str = "app") -> dict[str, Any]:
    body = {"appName": app, "deploy_type": "ping", "url": "http://127.0.0.1:9", "sdk": "py:v0", "functions": functions}
    answer: dict[str, Any] = engine.request("POST", "/fn/register", body)
    return answer


def refusal(engine: EngineProcess, *functions: dict[str, Any]) -> str:
    with pytest.raises(urllib.error.HTTPError) as caught:
        register(engine, *functions)
    assert caught.value.code == 400
    with caught.value as answer:
        return str(json.loads(answer.read())["error"])


EVENT = {"event": "test/x"}


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"triggers": [{"cron": "61 * * * *"}]}, "not valid"),
        ({"triggers": [{"cron": "* * * * * *"}]}, "five fields"),
        ({"triggers": [{"cron": "@hourly"}]}, "five fields"),
        ({"triggers": [{"cron": "0 8 * * 7"}]}, "Sunday is 0"),
        ({"triggers": [{"cron": "0 8 * * 5-7"}]}, "Sunday is 0"),
        ({"triggers": [{"cron": "0 8 * * fri-mon"}]}, "ends before it begins"),
        ({"triggers": [{"cron": "0 22-2 * * *"}]}, "ends before it begins"),
        ({"triggers": [{"cron": "0 8 L * *"}]}, "neither a number nor a range"),
        ({"triggers": [{"cron": "0 8 * * 5#2"}]}, "neither a number nor a range"),
        ({"triggers": [{"cron": "R 8 * * *"}]}, "neither a number nor a range"),
        ({"triggers": [{"cron": "TZ=UTC\t0 8 * * *"}]}, "blank after its time zone"),
        ({"triggers": [{"cron": "TZ=Moon/Base * * * * *"}]}, "unknown time zone Moon/Base"),
        ({"triggers": [{"cron": "* * * * *", "jitter": "10m"}]}, "jitter"),
        ({"triggers": [{**EVENT, "expression": "event.data.x =="}]}, "does not parse"),
        ({"triggers": [{**EVENT, "expression": "steps.x == 1"}]}, "unknown variable steps"),
        ({"triggers": []}, "no trigger"),
        ({"triggers": [EVENT, EVENT]}, "the same"),
        ({"triggers": [{"event": f"test/{n}"} for n in range(11)]}, "11 triggers"),
        ({"cancel": [{"event": "x", "if": "lowercase(event.data.x) == 'a'"}]}, "lowercase"),
        ({"cancel": [{"event": "x", "if": "event.data.x + 1 == 2"}]}, "arithmetic"),
        ({"cancel": [{"event": f"x{n}"} for n in range(6)]}, "6 cancel events"),
        ({"batchEvents": {"maxSize": 1, "timeout": "5s"}}, "at least 2"),
        ({"batchEvents": {"maxSize": 5}}, "needs a timeout"),
        ({"batchEvents": {"maxSize": 5, "timeout": "5s"}, "debounce": {"period": "1s"}}, "combined with debounce"),
        ({"concurrency": [{"limit": 1}, {"limit": 2, "key": "event.data.a"}, {"limit": 3}]}, "3 concurrency limits"),
        ({"concurrency": [{"limit": 1, "scope": "env"}]}, "needs a key"),
        ({"rateLimit": {"limit": 1, "period": "25h"}}, "rate limit period"),
        ({"debounce": {"period": "soon"}}, "not a duration"),
        ({"steps": {}}, "0 steps"),
        ({"steps": {"step": {"runtime": {"url": "file:///etc/passwd"}}}}, "not an http"),
    ],
)
def test_a_bad_function_refuses_the_whole_sync_and_is_named(
    engine: EngineProcess, options: dict[str, Any], reason: str
) -> None:
    app = f"a{uuid.uuid4().hex[:6]}"
    told = refusal(engine, config(f"{app}-bad", **options), config(f"{app}-good"))
    assert f"{app}-bad: " in told
    assert reason in told
    assert f"{app}-good" not in told
    assert engine.get(f"/v1/apps/{app}/functions") == []


def test_every_bad_function_is_named(engine: EngineProcess) -> None:
    told = refusal(engine, config("app-one", triggers=[]), config("app-two", cancel=[{}]), {"name": "three"})
    assert "app-one: it has no trigger" in told
    assert "app-two: a cancel has no event" in told
    assert "three: it has no id" in told


def test_a_sync_tells_whether_anything_changed(engine: EngineProcess) -> None:
    # Given an app that registered
    first = register(engine, config("same-fn"), app="same")
    assert first["ok"] is True
    assert first["modified"] is True
    # When it registers the same again, then nothing changed
    again = register(engine, config("same-fn"), app="same")
    assert (again["modified"], again["app_id"], again["sync_id"]) == (False, first["app_id"], first["sync_id"])
    # And when it registers something else, then it did
    assert register(engine, config("same-fn", name="new name"), app="same")["modified"] is True
    (function,) = engine.get("/v1/apps/same/functions")
    assert (function["name"], function["version"]) == ("new name", 2)


def test_a_function_of_another_app_cannot_be_taken_over(engine: EngineProcess) -> None:
    # Given a function of one app, when another registers its id, then that is refused
    register(engine, config("owner-fn"), app="owner")
    with pytest.raises(urllib.error.HTTPError) as caught:
        register(engine, config("owner-fn"), app="thief")
    with caught.value as answer:
        assert "owner-fn: it belongs to app owner" in json.loads(answer.read())["error"]


def test_a_server_of_another_kind_is_refused(engine: EngineProcess) -> None:
    with pytest.raises(urllib.error.HTTPError) as caught:
        engine.request("POST", "/fn/register", {"appname": "x"}, {"x-inngest-expected-server-kind": "cloud"})
    caught.value.close()
    assert caught.value.code == 400
    assert caught.value.headers["x-inngest-server-kind"] == "dev"


def test_runs_outlive_the_registration_of_their_function(engine: EngineProcess, serve: ServeApp) -> None:
    # Given a sleeping run
    client = make_client(engine)

    @client.create_function(fn_id="fn", trigger=inngest.TriggerEvent(event=f"{client.app_id}/go"))
    def fn(ctx: inngest.ContextSync) -> str:
        ctx.step.sleep("nap", timedelta(seconds=1))
        return "done"

    serve(engine, client, [fn])
    (event_id,) = engine.send({"name": f"{client.app_id}/go"})
    eventually(lambda: engine.runs_of(event_id))
    # When the app registers an empty list
    assert register(engine, app=client.app_id)["ok"] is True
    # Then new events start nothing, the run is called to its end, and its history stays readable
    (late,) = engine.send({"name": f"{client.app_id}/go"})
    assert engine.ended_run(event_id)["output"] == "done"
    assert engine.runs_of(late) == []
    (listed,) = engine.get(f"/v2/apps/{client.app_id}/functions/fn/runs?includeOutput=true")["data"]
    assert listed["output"] == {"data": "done"}
