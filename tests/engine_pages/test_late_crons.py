"""A schedule that was missed while the engine was down."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import inngest
import pytest

from tests.engine.app_server import AppServer
from tests.engine.clients import close_client, make_client
from tests.engine.engine_process import EngineProcess
from tests.engine_pages.visitor import Visitor


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[EngineProcess]:
    process = EngineProcess(f"sqlite:///{tmp_path / 'engine.db'}", "--test-clock").start()
    yield process
    process.close()


@pytest.mark.case("B12")
def test_a_run_that_came_late_says_so(engine: EngineProcess) -> None:
    # Given an hourly function
    client = make_client(engine, "hours")

    @client.create_function(fn_id="hourly", trigger=inngest.TriggerCron(cron="0 * * * *"))
    def hourly(ctx: inngest.ContextSync) -> None:
        return None

    app = AppServer(client, [hourly]).start()
    visitor = Visitor(engine)
    try:
        assert app.sync()["ok"] is True
        now = datetime.fromisoformat(engine.get("/test/clock")["now"])
        hour = now.replace(minute=0, second=0, microsecond=0) + timedelta(hours=1)
        # When one tick comes in time and the next three are missed, the last by half an hour
        engine.request("POST", "/test/clock", {"now": hour.isoformat()})
        missed = hour + timedelta(hours=3)
        engine.request("POST", "/test/clock", {"now": (missed + timedelta(minutes=30)).isoformat(), "jump": True})
        # Then the page of the second run says when it was due, and that of the first says nothing
        late, timely = (run["id"] for run in engine.get("/v2/runs")["data"])
        assert f"late: was due {missed:%Y-%m-%d %H:%M:%S} UTC" in visitor.words(f"/ui/runs/{late}")
        assert "late: was due" not in visitor.words(f"/ui/runs/{timely}")
        # And the pages of the function and of all say what ran late and what was skipped
        skipped = (
            f"{hour + timedelta(hours=1):%Y-%m-%d %H:%M:%S} UTC – {hour + timedelta(hours=2):%Y-%m-%d %H:%M:%S} UTC"
        )
        function = engine.get(f"/v1/apps/{client.app_id}/functions")[0]["id"]
        for page in (f"/ui/functions/{function}", "/ui"):
            words = visitor.words(page)
            assert f"{missed:%Y-%m-%d %H:%M:%S} UTC ran late" in words
            assert f"{skipped} skipped 2 times, since a later time had come" in words
    finally:
        visitor.close()
        app.stop()
        close_client(client)
