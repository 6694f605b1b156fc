"""Schedules through restarts, nights when clocks change, and changes of the schedule itself."""

import threading
from collections.abc import Iterator
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import inngest
import pytest

from tests.engine.clients import make_client
from tests.engine.conftest import ServeApp
from tests.engine.engine_process import EngineProcess
from tests.engine.sending import trigger
from tests.engine.waiting import eventually


@pytest.fixture
def clocked(tmp_path: Path) -> Iterator[EngineProcess]:
    """An engine with a test clock."""
    process = EngineProcess(f"sqlite:///{tmp_path / 'engine.db'}", "--test-clock").start()
    yield process
    process.close()


class Schedules:
    """Functions that note the moments for which they were scheduled."""

    def __init__(self, client: inngest.Inngest) -> None:
        self.client = client
        self.ticks: dict[str, list[datetime]] = {}

    def function(self, name: str, cron: str) -> inngest.Function[None]:
        noted = self.ticks.setdefault(name, [])

        def run(ctx: inngest.ContextSync) -> None:
            noted.append(datetime.fromisoformat(str(ctx.event.data["scheduledAt"])))

        made: inngest.Function[None] = self.client.create_function(fn_id=name, trigger=inngest.TriggerCron(cron=cron))(
            run
        )
        return made


def now_of(engine: EngineProcess) -> datetime:
    return datetime.fromisoformat(engine.get("/test/clock")["now"])


def set_clock(engine: EngineProcess, moment: datetime, *, jump: bool = False) -> None:
    engine.request("POST", "/test/clock", {"now": moment.isoformat(), "jump": jump})


def next_change(zone: ZoneInfo, after: datetime, *, forward: bool) -> datetime:
    """The next hour after which local time has leapt forward, or gone back."""
    hour = after.replace(minute=0, second=0, microsecond=0)
    while True:
        later = hour + timedelta(hours=1)
        before, then = (moment.astimezone(zone).utcoffset() or timedelta() for moment in (hour, later))
        if before != then and (then > before) == forward:
            return hour
        hour = later


NIGHTS = [
    ("America/New_York", "30 1", False),
    ("America/New_York", "30 2", True),
    ("Europe/Paris", "30 2", False),
    ("Europe/Paris", "30 2", True),
    ("Australia/Lord_Howe", "45 1", False),
]


def test_on_nights_when_clocks_change_daily_schedules_run_once_and_quick_ones_keep_their_pace(
    clocked: EngineProcess, serve: ServeApp
) -> None:
    # Given daily schedules at hours that come twice or not at all, and one of every quarter of an hour
    schedules = Schedules(make_client(clocked))
    daily = [
        schedules.function(f"night{number}", f"TZ={zone} {local} * * *")
        for number, (zone, local, _) in enumerate(NIGHTS)
    ]
    quarters = schedules.function("quarters", "TZ=America/New_York */15 * * * *")
    serve(clocked, schedules.client, [*daily, quarters])
    start = now_of(clocked)
    nights = sorted(
        (next_change(ZoneInfo(zone), start, forward=forward), number)
        for number, (zone, _, forward) in enumerate(NIGHTS)
    )
    for change, number in nights:
        zone = ZoneInfo(NIGHTS[number][0])
        # When the clock goes through such a night, from the evening to the morning of the local date
        morning = datetime.combine(change.astimezone(zone).date(), time(7), zone).astimezone(UTC)
        set_clock(clocked, morning - timedelta(hours=12), jump=True)
        for ticks in schedules.ticks.values():
            ticks.clear()
        begun = now_of(clocked)
        set_clock(clocked, morning)
        # Then the daily one ran once, on that date
        dates = [tick.astimezone(zone).date() for tick in schedules.ticks[f"night{number}"]]
        assert dates == [change.astimezone(zone).date()], NIGHTS[number]
        # And every quarter of an hour of absolute time came, each once
        assert len(schedules.ticks["quarters"]) in {
            (morning - begun) // timedelta(minutes=15) + more for more in (0, 1)
        }
        assert len(set(schedules.ticks["quarters"])) == len(schedules.ticks["quarters"])


@pytest.mark.kill
def test_a_restart_neither_repeats_what_ran_nor_runs_what_is_not_due(clocked: EngineProcess, serve: ServeApp) -> None:
    # Given three schedules in three zones, of which one has run today
    schedules = Schedules(make_client(clocked))
    zones = {
        "x": ("America/Lima", time(20, 15)),
        "y": ("America/Halifax", time(19, 30)),
        "z": ("Asia/Manila", time(7, 30)),
    }
    functions = [
        schedules.function(name, f"TZ={zone} {at.minute} {at.hour} * * *") for name, (zone, at) in zones.items()
    ]
    app = serve(clocked, schedules.client, functions)
    lima = ZoneInfo("America/Lima")
    ran = datetime.combine(now_of(clocked).astimezone(lima).date() + timedelta(days=2), zones["x"][1], lima)
    set_clock(clocked, ran + timedelta(minutes=1))
    assert schedules.ticks["x"][-1] == ran
    # When the engine is started again at three moments, each time with the app's schedules registered anew
    moments = [
        ran + timedelta(minutes=25),
        datetime.combine(ran.date() + timedelta(days=1), time(15, 50), ZoneInfo("America/Halifax")),
        datetime.combine(ran.date() + timedelta(days=2), time(2, 10), ZoneInfo("Asia/Manila")),
    ]
    for moment in moments:
        clocked.kill()
        clocked.start()
        assert app.sync()["ok"] is True
        set_clock(clocked, moment)
    set_clock(clocked, moments[-1] + timedelta(days=1))
    # Then each ran at its own local time only, once a date, and no date was left out
    for name, (zone, at) in zones.items():
        local = [tick.astimezone(ZoneInfo(zone)) for tick in schedules.ticks[name]]
        assert {tick.time() for tick in local} == {at}
        dates = [tick.date() for tick in local]
        assert dates == [dates[0] + timedelta(days=n) for n in range(len(dates))]


def test_a_schedule_that_was_removed_changed_or_renamed_does_not_fire_again(
    clocked: EngineProcess, serve: ServeApp
) -> None:
    # Given a schedule of every minute beside one of every five, and a run of another function in progress
    client = make_client(clocked)
    schedules = Schedules(client)
    begun, go_on = threading.Event(), threading.Event()

    @client.create_function(fn_id="long", trigger=trigger(client))
    def long(ctx: inngest.ContextSync) -> object:
        def work() -> str:
            begun.set()
            go_on.wait(30)
            return "to its end"

        return [ctx.step.run("work", work), ctx.step.run("after", lambda: "after")]

    every, five = schedules.function("every", "* * * * *"), schedules.function("five", "*/5 * * * *")
    app = serve(clocked, client, [every, five, long])
    set_clock(clocked, now_of(clocked) + timedelta(minutes=10))
    assert len(schedules.ticks["every"]) == 10
    assert len(schedules.ticks["five"]) == 2
    (event_id,) = clocked.send({"name": f"{client.app_id}/go", "data": {}})
    eventually(begun.is_set)
    # When the first is taken away while that run is in progress, and the second gets other times
    weekdays = schedules.function("five", "0 8 * * 1-5")
    app.serve(client, [weekdays, long])
    assert app.sync()["ok"] is True
    go_on.set()
    assert clocked.ended_run(event_id)["output"] == ["to its end", "after"]
    schedules.ticks["every"].clear()
    schedules.ticks["five"].clear()
    set_clock(clocked, now_of(clocked) + timedelta(days=7))
    # Then the first is silent, and the second came at its new times only
    assert schedules.ticks["every"] == []
    assert [(tick.hour, tick.minute) for tick in schedules.ticks["five"]] == [(8, 0)] * 5
    assert all(tick.weekday() < 5 for tick in schedules.ticks["five"])
    # When its id changes, then only the new one fires, once each time
    renamed = schedules.function("renamed", "0 8 * * 1-5")
    app.serve(client, [renamed, long])
    assert app.sync()["ok"] is True
    set_clock(clocked, now_of(clocked) + timedelta(days=7))
    assert len(schedules.ticks["five"]) == 5
    assert len(schedules.ticks["renamed"]) == 5
    # When the old function is back, then it has exactly one schedule again
    app.serve(client, [schedules.function("five", "*/5 * * * *"), long])
    assert app.sync()["ok"] is True
    schedules.ticks["five"].clear()
    set_clock(clocked, now_of(clocked) + timedelta(hours=1))
    assert len(schedules.ticks["five"]) == 12
    assert len(schedules.ticks["renamed"]) == 5
