"""An app makes itself known, says plainly why it cannot, and comes back when the engine forgot it."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable
from pathlib import Path

import httpx
import inngest
import pytest
import sqlalchemy as sa

from core.errors import UnavailableError
from core.orchestrator.engine import Engine
from core.orchestrator.registration import Registration, engine_lists_app
from tests.runs.probe_app import probe_app
from tests.support.engines import RunningEngine, embedded, inngest_dev, running
from tests.support.waiting import until


class App:
    """What it registers for is `trouble`'s to say."""

    def __init__(self, app_id: str, trouble: Callable[[], object] = lambda: None) -> None:
        self.app_id = app_id
        self.pending = True
        self._trouble = trouble

    def register(self) -> None:
        self._trouble()
        self.pending = False


def test_the_app_is_ready_once_the_engine_knows_it(any_engine: RunningEngine) -> None:
    with probe_app(any_engine, "probe") as app:
        until("readiness", lambda: httpx.get(app.url + "/readyz").status_code == 200)
        assert engine_lists_app(app.engine, "probe")
        assert not engine_lists_app(app.engine, "nobody")


def test_an_engine_that_comes_later_is_waited_for(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    engine = embedded(tmp_path)
    with probe_app(engine, "probe") as app:
        until("a word about it", lambda: "trying again" in caplog.text)
        assert httpx.get(app.url + "/readyz").status_code == 503
        with running(engine):
            assert app.registration.settled.wait(20)


def test_an_engine_that_does_not_answer_is_asked_for_one_app_and_not_for_each(caplog: pytest.LogCaptureFixture) -> None:
    # Given an engine that takes questions and never answers, and apps that it was told of before
    caplog.set_level(logging.WARNING)
    apps = [App("first"), App("second")]
    for app in apps:
        app.pending = False
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        registration = Registration(Engine(address, address, timeout_seconds=0.2), lambda: apps, pause=60)

        # When it has been asked, and asked again
        registration.start()
        try:
            until("a word about it", lambda: "trying again" in caplog.text)
            silent.settimeout(10)
            asked = [_first_line(silent) for _ in range(2)]
        finally:
            registration.stop()

    # Then it was asked for the first app each time
    assert all("/apps/first/" in line for line in asked)


def _first_line(server: socket.socket) -> str:
    connection, _ = server.accept()
    with connection:
        return connection.recv(1000).decode().partition("\r\n")[0]


def test_apps_that_cannot_be_named_yet_are_asked_for_again(caplog: pytest.LogCaptureFixture) -> None:
    # Given that the list of apps cannot be read at first
    caplog.set_level(logging.WARNING)
    late = App("late")
    answers = iter([OSError("the directory is away")])

    def apps() -> list[App]:
        for trouble in answers:
            raise trouble
        return [late]

    # When the apps are looked after all the same
    registration = Registration(Engine.at("http://127.0.0.1:9"), apps, pause=60)
    registration.start()
    try:
        until("the app", lambda: not late.pending)
    finally:
        registration.stop()

    # Then that was said
    assert "the directory is away" in caplog.text


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
        until("the app after a restart", lambda: engine_lists_app(app.engine, "probe"), 20)
        heard = until("watch/requested", lambda: app.engine.get("/v1/events", {"name": "watch/requested"})["data"])
        assert heard[0]["name"] == "watch/requested"


def test_a_refused_function_is_named(any_engine: RunningEngine, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    with probe_app(any_engine, "refused", held_by=inngest.TriggerCron(cron="every now and then")) as app:
        until("the reason", lambda: "refuses refused" in caplog.text)
        assert not app.registration.settled.is_set()


def test_trouble_of_one_app_is_neither_the_others_nor_the_end(
    any_engine: RunningEngine, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    database = sa.create_engine(f"sqlite:///{tmp_path / 'empty.sqlite'}")

    def ask_the_database() -> None:
        with database.connect() as connection:
            connection.execute(sa.text("SELECT * FROM facts"))

    def cannot_start() -> None:
        if not mended.exists():
            raise UnavailableError("its process keeps ending")

    mended = tmp_path / "mended"
    apps = [App("first", ask_the_database), App("second", cannot_start), App("third")]
    registration = Registration(
        Engine.at(any_engine.url, any_engine.signing_key, any_engine.event_key), lambda: apps, pause=0.1
    )
    registration.start()
    try:
        until("the third app", lambda: not apps[2].pending)
        assert apps[0].pending
        assert apps[1].pending
        assert "no such table: facts" in caplog.text
        with database.begin() as connection:
            connection.execute(sa.text("CREATE TABLE facts (id INTEGER)"))
        mended.touch()
        until("all of them", lambda: not any(app.pending for app in apps), 30)
    finally:
        registration.stop()
        database.dispose()
