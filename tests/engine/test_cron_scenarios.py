"""Schedules through restarts, nights when clocks change, and changes of the schedule itself."""

import threading
from collections.abc import Iterator
from datetime import UTC, datetime, time, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import inngest
import pytest

from tests.engine.clients import make_client
from tests.engine.conftest import ServeApp
from tests.engine.engine_process import EngineProcess
from tests.engine.sending import trigger
from tests.engine.waiting import eventually

pytestmark = pytest.mark.long


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


@pytest.mark.case("B14")
def test_on_nights_when_clocks_change_daily_schedules_run_once_and_quick_ones_keep_their_pace(
    clocked: EngineProcess, serve: ServeApp
) -> None:
    # Given daily schedules at hours that come twice or not at all, and one of every quarter of an hour
    schedules = Schedules(make_client(clocked))
    daily = [
        schedules.function(f"night{number}", f"TZ={zone} {local} * * *")
        for number, (zone, local, _) in enumerate(NIGHTS)
    ]
    quarters = {
        zone: schedules.function(f"quarters{number}", f"TZ={zone} */15 * * * *")
        for number, zone in enumerate(dict.fromkeys(zone for zone, _, _ in NIGHTS))
    }
    paces = dict(zip(quarters, [name for name in schedules.ticks if name.startswith("quarters")], strict=True))
    serve(clocked, schedules.client, [*daily, *quarters.values()])
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
        # Then the daily one ran once, on that date: at the first of two equal times, or when time went on
        dates = [tick.astimezone(zone).date() for tick in schedules.ticks[f"night{number}"]]
        assert dates == [change.astimezone(zone).date()], NIGHTS[number]
        # And every quarter of an hour of absolute time came, each once
        quarter = schedules.ticks[paces[NIGHTS[number][0]]]
        assert len(quarter) in {(morning - begun) // timedelta(minutes=15) + more for more in (0, 1)}
        assert {later - one for one, later in pairwise(quarter)} == {timedelta(minutes=15)}


@pytest.mark.case("B12")
@pytest.mark.kill
def test_a_restart_neither_repeats_a_tick_nor_runs_one_that_is_not_due(clocked: EngineProcess, serve: ServeApp) -> None:
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
    # And none of it is called late, since nothing was missed
    assert missed_of(clocked, schedules.client, "x") == missed_of(clocked, schedules.client, "y") == []


@pytest.mark.case("B12")
def test_a_missed_tick_runs_once_late_or_is_skipped_and_is_shown(clocked: EngineProcess, serve: ServeApp) -> None:
    # Given an hourly schedule, a daily one and one of every working day
    schedules = Schedules(make_client(clocked))
    crons = {"hourly": "0 * * * *", "daily": "TZ=America/Lima 15 20 * * *", "working": "0 8 * * 1-5"}
    serve(clocked, schedules.client, [schedules.function(name, cron) for name, cron in crons.items()])
    now = now_of(clocked)
    friday = (now + timedelta(days=7 + (4 - now.weekday()) % 7)).replace(hour=7, minute=30, second=0, microsecond=0)
    set_clock(clocked, friday)
    for ticks in schedules.ticks.values():
        ticks.clear()
    # When the engine is away from that Friday morning to half past one on Sunday, after a daily tick in Lima
    sunday = friday + timedelta(hours=42)
    set_clock(clocked, sunday, jump=True)
    # Then of each schedule the last missed tick, which is younger than its period, ran once
    saturday = friday + timedelta(days=1)
    due = {
        "hourly": sunday.replace(hour=1, minute=0),
        "daily": sunday.replace(hour=1, minute=15),
        "working": friday.replace(hour=8, minute=0),
    }
    assert schedules.ticks == {name: [tick] for name, tick in due.items()}
    # And the ones before it, older than their periods, are shown as skipped
    skipped = {
        "hourly": (friday.replace(hour=8, minute=0), sunday.replace(hour=0, minute=0), 41),
        "daily": (saturday.replace(hour=1, minute=15), saturday.replace(hour=1, minute=15), 1),
    }
    for name, tick in due.items():
        late, *others = missed_of(clocked, schedules.client, name)
        told = [
            (datetime.fromisoformat(one["firstDue"]), datetime.fromisoformat(one["lastDue"]), one["ticks"])
            for one in others
        ]
        assert told == ([skipped[name]] if name in skipped else [])
        assert {one["outcome"] for one in others} <= {"SKIPPED"}
        # And its run is shown as late, in the lists and by itself
        assert late["outcome"] == "LATE"
        assert datetime.fromisoformat(late["lastDue"]) == tick
        run = clocked.get(f"/v2/runs/{late['runId']}")["data"]
        listed = clocked.get(f"/v2/apps/{schedules.client.app_id}/functions/{name}/runs")["data"]
        assert run["trigger"]["late"] is True
        assert datetime.fromisoformat(run["trigger"]["wasDue"]) == tick
        assert run["trigger"] in [one["trigger"] for one in listed]
        # And not again by itself, nor in a second entry
        set_clock(clocked, sunday + timedelta(minutes=10))
        assert schedules.ticks[name] == [tick]


def missed_of(engine: EngineProcess, client: inngest.Inngest, name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = engine.get(f"/v2/apps/{client.app_id}/functions/{name}/missed")["data"]
    return found


@pytest.mark.case("B16")
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
    assert crons_of(clocked, client) == {"five": ["0 8 * * 1-5"]}
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
    assert crons_of(clocked, client) == {"renamed": ["0 8 * * 1-5"]}
    set_clock(clocked, now_of(clocked) + timedelta(days=7))
    assert len(schedules.ticks["five"]) == 5
    assert len(schedules.ticks["renamed"]) == 5
    # When the old function is back, then it has exactly one schedule again
    app.serve(client, [schedules.function("five", "*/5 * * * *"), long])
    assert app.sync()["ok"] is True
    assert crons_of(clocked, client) == {"five": ["*/5 * * * *"]}
    schedules.ticks["five"].clear()
    set_clock(clocked, now_of(clocked) + timedelta(hours=1))
    assert len(schedules.ticks["five"]) == 12
    assert len(schedules.ticks["renamed"]) == 5


def crons_of(engine: EngineProcess, client: inngest.Inngest) -> dict[str, list[str]]:
    """The schedules the engine says it has, by function."""
    found: dict[str, list[str]] = {}
    for function in engine.get(f"/v2/apps/{client.app_id}/functions")["data"]:
        for one in function["triggers"]:
            if one["type"] == "CRON":
                found.setdefault(function["id"], []).append(one["value"])
    return found
