"""What an engine forgets."""

import urllib.error
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import inngest
import pytest

from tests.engine.clients import make_client
from tests.engine.conftest import ServeApp
from tests.engine.engine_process import EngineProcess
from tests.engine.waiting import eventually


@pytest.fixture
def clocked_engine(tmp_path: Path) -> Iterator[EngineProcess]:
    process = EngineProcess(f"sqlite:///{tmp_path / 'engine.db'}", "--test-clock", "--retention", "20").start()
    yield process
    process.close()


def test_old_runs_and_events_are_forgotten_and_living_ones_are_not(
    clocked_engine: EngineProcess, serve: ServeApp
) -> None:
    # Given a run that ended and one that sleeps for forty days
    engine = clocked_engine
    client = make_client(engine)

    @client.create_function(fn_id="fn", trigger=inngest.TriggerEvent(event=f"{client.app_id}/go"))
    def fn(ctx: inngest.ContextSync) -> object:
        if ctx.event.data.get("long"):
            ctx.step.sleep("nap", timedelta(days=40))
        return ctx.step.run("work", lambda: dict(ctx.event.data))

    serve(engine, client, [fn])
    name = f"{client.app_id}/go"
    ended, sleeping = engine.send({"name": name, "data": {}}, {"name": name, "data": {"long": True}})
    run_id = engine.ended_run(ended)["run_id"]
    (lasting,) = eventually(lambda: engine.runs_of(sleeping))
    # When it is less old than the retention time of twenty days, then it is remembered
    engine.request("POST", "/test/clock", {"advance": "19d"})
    assert engine.get(f"/v1/runs/{run_id}")["data"]["status"] == "Completed"
    # When that time is over
    engine.request("POST", "/test/clock", {"advance": "2d"})
    # Then the run that ended is gone with its event
    for path in (f"/v1/runs/{run_id}", f"/v1/events/{ended}"):
        with pytest.raises(urllib.error.HTTPError) as caught:
            engine.get(path)
        caught.value.close()
        assert caught.value.code == 404
    # And the one that lives wakes at its time, with its event
    engine.request("POST", "/test/clock", {"advance": "20d"})
    run = eventually(lambda: engine.get(f"/v1/runs/{lasting['run_id']}")["data"])
    assert (run["status"], run["output"]) == ("Completed", {"long": True})
