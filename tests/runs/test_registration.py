"""An app makes itself known, says plainly why it cannot, and comes back when the engine forgot it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

import httpx
import inngest
import pytest

from core.orchestrator.registration import lists
from tests.runs.probe_app import probe_app
from tests.support.engines import RunningEngine, embedded, inngest_dev, running
from tests.support.waiting import until


def test_the_app_is_ready_once_the_engine_knows_it(any_engine: RunningEngine) -> None:
    with probe_app(any_engine, "probe") as app:
        until("readiness", lambda: httpx.get(app.url + "/readyz").status_code == 200)
        assert lists(app.engine, "probe")
        assert not lists(app.engine, "nobody")


def test_an_engine_that_comes_later_is_waited_for(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    engine = embedded(tmp_path)
    with probe_app(engine, "probe") as app:
        until("a word about it", lambda: "trying again" in caplog.text)
        assert httpx.get(app.url + "/readyz").status_code == 503
        with running(engine):
            assert app.registration.settled.wait(20)


@pytest.mark.long
@pytest.mark.parametrize("kind", [embedded, inngest_dev])
def test_an_engine_that_forgot_is_told_again_and_the_watch_is_asked(
    kind: Callable[[Path], RunningEngine], tmp_path: Path
) -> None:
    engine = kind(tmp_path)
    with running(engine), probe_app(engine, "probe") as app:
        assert app.registration.settled.wait(20)
        engine.kill()
        for file in tmp_path.glob("engine.sqlite*"):
            file.unlink()
        engine.start()
        until("the app after a restart", lambda: lists(app.engine, "probe"), 20)
        heard = until("watch/requested", lambda: app.engine.get("/v1/events", {"name": "watch/requested"})["data"])
        assert heard[0]["name"] == "watch/requested"


def test_a_refused_function_is_named(any_engine: RunningEngine, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    with probe_app(any_engine, "refused", held_by=inngest.TriggerCron(cron="every now and then")) as app:
        until("the reason", lambda: "refuses refused" in caplog.text)
        assert not app.registration.settled.is_set()
