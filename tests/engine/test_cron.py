"""Schedules: time zones, nights when clocks change, and schedules in a running engine."""

from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import inngest
import pytest

from engine.formats.clock import to_datetime, to_ms
from engine.formats.cron import jitter_of, parse_cron
from tests.engine.clients import make_client
from tests.engine.conftest import ServeApp
from tests.engine.engine_process import EngineProcess


def ticks(text: str, after: str, count: int) -> list[str]:
    """The next ticks as local times with their offset."""
    cron = parse_cron(text)
    at = to_ms(datetime.fromisoformat(after))
    found = []
    for _ in range(count):
        at = cron.next_after(at)
        found.append(to_datetime(at).astimezone(cron.zone).strftime("%m-%d %H:%M %z"))
    return found


@pytest.mark.parametrize(
    ("text", "after", "expected"),
    [
        ("0 3 * * 1", "2026-11-29T15:00:00Z", ["11-30 03:00 +0000", "12-07 03:00 +0000"]),
        ("TZ=Europe/Oslo 0 3 * * 1", "2026-11-29T15:00:00Z", ["11-30 03:00 +0100", "12-07 03:00 +0100"]),
        ("CRON_TZ=Asia/Manila 30 7 * * *", "2026-06-01T00:00:00Z", ["06-02 07:30 +0800", "06-03 07:30 +0800"]),
        # In autumn a local time comes twice: the schedule runs at the first one only.
        ("TZ=America/New_York 30 1 * * *", "2026-10-31T12:00:00Z", ["11-01 01:30 -0400", "11-02 01:30 -0500"]),
        ("TZ=Europe/Paris 30 2 * * *", "2026-10-24T12:00:00Z", ["10-25 02:30 +0200", "10-26 02:30 +0100"]),
        ("TZ=Australia/Lord_Howe 45 1 * * *", "2026-04-04T00:00:00Z", ["04-05 01:45 +1100", "04-06 01:45 +1030"]),
        # In spring a local time does not come: the schedule runs at the next minute that does.
        ("TZ=America/New_York 30 2 * * *", "2026-03-07T12:00:00Z", ["03-08 03:00 -0400", "03-09 02:30 -0400"]),
        ("TZ=Europe/Paris 30 2 * * *", "2026-03-28T12:00:00Z", ["03-29 03:00 +0200", "03-30 02:30 +0200"]),
        # A schedule of every hour keeps its pace through both.
        (
            "TZ=America/New_York */30 * * * *",
            "2026-11-01T05:15:00Z",
            ["11-01 01:30 -0400", "11-01 01:00 -0500", "11-01 01:30 -0500", "11-01 02:00 -0500"],
        ),
        ("TZ=America/New_York */30 * * * *", "2026-03-08T06:15:00Z", ["03-08 01:30 -0500", "03-08 03:00 -0400"]),
        # A span of one is one, and what comes to one hour is a daily schedule however it is written.
        ("0 8-8 * * *", "2026-06-01T00:00:00Z", ["06-01 08:00 +0000", "06-02 08:00 +0000"]),
        ("5-5 8-8/1 * * MON-1", "2026-06-01T00:00:00Z", ["06-01 08:05 +0000", "06-08 08:05 +0000"]),
        ("0 8-8,20 2-2 jun-6 *", "2026-06-01T00:00:00Z", ["06-02 08:00 +0000", "06-02 20:00 +0000"]),
        ("TZ=America/Havana 0 */24 * * *", "2026-03-07T12:00:00Z", ["03-08 01:00 -0400", "03-09 00:00 -0400"]),
        ("TZ=America/Havana 0 0-0 * * *", "2026-10-31T12:00:00Z", ["11-01 00:00 -0400", "11-02 00:00 -0500"]),
        ("TZ=America/Havana 0 */25 * * *", "2026-10-31T12:00:00Z", ["11-01 00:00 -0400", "11-02 00:00 -0500"]),
        ("TZ=Europe/Paris 0 0-23 * * *", "2026-10-24T23:30:00Z", ["10-25 02:00 +0200", "10-25 02:00 +0100"]),
        # One of some hours runs at each of them once, where they come twice and where they do not come.
        ("TZ=Europe/Paris 0 */2 * * *", "2026-10-24T21:30:00Z", ["10-25 00:00 +0200", "10-25 02:00 +0200"]),
        ("TZ=Europe/Paris 0 */2 * * *", "2026-10-25T00:00:00Z", ["10-25 04:00 +0100"]),
        ("TZ=Africa/Cairo 0 */6 * * *", "2026-04-23T12:00:00Z", ["04-23 18:00 +0200", "04-24 01:00 +0300"]),
        ("TZ=Africa/Cairo 0 */6 * * *", "2026-04-23T22:00:00Z", ["04-24 06:00 +0300"]),
        ("TZ=America/Santiago 0 */24 * * *", "2026-09-05T22:00:00Z", ["09-06 01:00 -0300", "09-07 00:00 -0300"]),
        ("TZ=America/Havana 0 */24 * * *", "2026-10-31T22:00:00Z", ["11-01 00:00 -0400", "11-02 00:00 -0500"]),
        ("TZ=Pacific/Chatham 0 3 * * *", "2026-09-25T18:00:00Z", ["09-27 03:45 +1345", "09-28 03:00 +1345"]),
        # A zone may change its clock for a month of the year that moves.
        ("TZ=Africa/Casablanca 30 2 * * *", "2026-02-14T12:00:00Z", ["02-15 02:30 +0100", "02-16 02:30 +0000"]),
        ("TZ=Africa/Casablanca 30 2 * * *", "2026-03-21T12:00:00Z", ["03-22 03:00 +0100", "03-23 02:30 +0100"]),
        ("0 0 29 2 *", "2026-01-01T00:00:00Z", ["02-29 00:00 +0000"]),
        ("0 0 31 * *", "2026-01-31T12:00:00Z", ["03-31 00:00 +0000", "05-31 00:00 +0000"]),
    ],
)
def test_next_ticks(text: str, after: str, expected: list[str]) -> None:
    assert ticks(text, after, len(expected)) == expected


@pytest.mark.parametrize(
    "zone", ["America/New_York", "Europe/Paris", "Australia/Lord_Howe", "America/Lima", "Africa/Cairo"]
)
@pytest.mark.parametrize("local", ["30 1", "30 2", "45 1", "0 0", "0 */24", "59 23"])
def test_a_daily_schedule_runs_once_on_each_local_date_of_a_year(zone: str, local: str) -> None:
    cron = parse_cron(f"TZ={zone} {local} * * *")
    at = to_ms(datetime(2026, 1, 1, tzinfo=ZoneInfo(zone)))
    end = to_ms(datetime(2027, 1, 1, tzinfo=ZoneInfo(zone)))
    dates = []
    while (at := cron.next_after(at)) < end:
        dates.append(to_datetime(at).astimezone(ZoneInfo(zone)).date())
    assert len(dates) == len(set(dates))
    assert len(dates) in {364, 365}


def test_the_latest_tick_after_a_long_time_is_found_at_once() -> None:
    hourly, since = parse_cron("0 * * * *"), to_ms(datetime.fromisoformat("2020-01-01T00:00:00Z"))
    until = to_ms(datetime.fromisoformat("2026-05-05T10:20:30Z"))
    assert to_datetime(hourly.latest(since, until)).isoformat() == "2026-05-05T10:00:00+00:00"
    assert to_datetime(parse_cron("0 0 1 1 *").latest(since, until)).isoformat() == "2026-01-01T00:00:00+00:00"
    assert parse_cron("0 0 1 1 *").latest(until, until + 1000) == until


@pytest.mark.parametrize(
    "text", ["", "* * * *", "* * * * * *", "@hourly", "@every 5m", "61 * * * *", "TZ=No/Where * * * * *", "0 0 31 2 *"]
)
def test_what_is_no_schedule_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="cron"):
        parse_cron(text)


def test_jitter_is_the_same_for_a_tick_and_within_its_bounds() -> None:
    spread = {jitter_of("app-fn", tick, 20_000) for tick in range(0, 6_000_000, 60_000)}
    assert all(1_000 <= found < 20_000 for found in spread)
    assert len(spread) > 50
    assert jitter_of("app-fn", 60_000, 20_000) == jitter_of("app-fn", 60_000, 20_000)
    assert jitter_of("app-fn", 60_000, 0) == 0


@pytest.mark.long
def test_jitter_delays_a_tick_and_the_event_tells_both_times(tmp_path: Path, serve: ServeApp) -> None:
    # Given a schedule of every minute with up to thirty seconds of jitter
    engine = EngineProcess(f"sqlite:///{tmp_path / 'engine.db'}", "--test-clock").start()
    client = make_client(engine)
    told: list[tuple[datetime, datetime]] = []

    @client.create_function(fn_id="fn", trigger=inngest.TriggerCron(cron="* * * * *", jitter="30s"))
    def fn(ctx: inngest.ContextSync) -> None:
        planned, fired = (datetime.fromisoformat(str(ctx.event.data[key])) for key in ("scheduledAt", "fireAt"))
        told.append((planned, fired))

    try:
        serve(engine, client, [fn])
        # When ten minutes pass, then each tick came once, one to thirty seconds late, by different times
        engine.request("POST", "/test/clock", {"advance": "10m"})
        assert len({planned for planned, _ in told}) == len(told)
        assert len(told) in {9, 10}
        delays = {(fired - planned).total_seconds() for planned, fired in told}
        assert all(1 <= delay < 30 for delay in delays)
        assert len(delays) > 3
    finally:
        engine.close()


def test_a_week_of_schedules_through_the_test_clock(tmp_path: Path, serve: ServeApp) -> None:
    # Given an hourly and a daily function
    engine = EngineProcess(f"sqlite:///{tmp_path / 'engine.db'}", "--test-clock").start()
    client = make_client(engine)
    hourly: list[str] = []
    daily: list[str] = []

    @client.create_function(fn_id="hourly", trigger=inngest.TriggerCron(cron="0 * * * *"))
    def every_hour(ctx: inngest.ContextSync) -> None:
        hourly.append(str(ctx.event.data["scheduledAt"]))

    @client.create_function(fn_id="daily", trigger=inngest.TriggerCron(cron="TZ=Asia/Tokyo 15 20 * * *"))
    def every_day(ctx: inngest.ContextSync) -> None:
        daily.append(str(ctx.event.data["scheduledAt"]))

    try:
        app = serve(engine, client, [every_hour, every_day])
        # When two days pass
        engine.request("POST", "/test/clock", {"advance": "2d"})
        # Then each came as often as its schedule says, at its times
        assert len(hourly) == 48
        assert [moment[11:16] for moment in daily] == ["11:15", "11:15"]

        # When the daily one is taken away and the hourly one re-timed
        @client.create_function(fn_id="hourly", trigger=inngest.TriggerCron(cron="30 */6 * * *"))
        def every_six(ctx: inngest.ContextSync) -> None:
            hourly.append(str(ctx.event.data["scheduledAt"]))

        app.serve(client, [every_six])
        assert app.sync()["ok"] is True
        hourly.clear()
        engine.request("POST", "/test/clock", {"advance": "1d"})
        # Then only the new schedule runs
        assert len(hourly) == 4
        assert all(moment[14:16] == "30" for moment in hourly)
        assert len(daily) == 2
    finally:
        engine.close()
