"""The times that a page shows for a schedule are those at which the engine fires it, on clock nights too."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest

from app.web.presenters.skills.skill import next_run_times


def shown(after: str, *crons: str) -> list[str]:
    triggers = [{"event": "a/b"}, *({"cron": cron} for cron in crons)]
    return [f"{at:%m-%d %H:%M}" for at in next_run_times(triggers, datetime.fromisoformat(after))]


@pytest.mark.parametrize(
    ("cron", "after", "expected"),
    [
        # A local time that does not come: the next minute that does.
        ("TZ=Europe/Paris 30 2 * * *", "2026-03-28T12:00Z", ["03-29 01:00", "03-30 00:30", "03-31 00:30"]),
        # One that comes twice: once.
        ("TZ=America/New_York 30 1 * * *", "2026-10-31T12:00Z", ["11-01 05:30", "11-02 06:30", "11-03 06:30"]),
        # Every half hour keeps its pace through the hour that comes twice.
        ("TZ=America/New_York */30 * * * *", "2026-11-01T05:30Z", ["11-01 06:00", "11-01 06:30", "11-01 07:00"]),
        ("TZ=Australia/Lord_Howe 45 1 * * *", "2026-04-04T00:00Z", ["04-04 14:45", "04-05 15:15", "04-06 15:15"]),
        ("0 8 * * *", "2026-12-01T08:00Z", ["12-02 08:00", "12-03 08:00", "12-04 08:00"]),
        ("0 8 30 2 *", "2026-12-01T08:00Z", []),
        ("TZ=No/Where 0 8 * * *", "2026-12-01T08:00Z", []),
        ("nonsense", "2026-12-01T08:00Z", []),
    ],
)
def test_the_next_times_of_a_schedule(cron: str, after: str, expected: list[str]) -> None:
    assert shown(after, cron) == expected


def test_of_several_schedules_the_soonest_times_are_shown_and_each_once() -> None:
    twice = ("0 8 * * *", "TZ=Europe/Paris 0 9 * * *", "0 20 * * *")
    assert shown("2026-12-01T00:00Z", *twice) == ["12-01 08:00", "12-01 20:00", "12-02 08:00"]


@pytest.mark.parametrize("zone", ["America/New_York", "Europe/Paris", "Australia/Lord_Howe", "Asia/Tehran", "UTC"])
def test_through_the_nights_of_a_year_no_half_hour_and_no_date_is_missing(zone: str) -> None:
    for month in (3, 4, 10, 11):
        since = datetime(2026, month, 1, tzinfo=ZoneInfo(zone)).astimezone(UTC)
        halves = next_run_times([{"cron": f"TZ={zone} */30 * * * *"}], since, 30 * 48)
        assert {later - sooner for sooner, later in pairwise(halves)} == {timedelta(minutes=30)}
        nights = [
            at.astimezone(ZoneInfo(zone)).date()
            for at in next_run_times([{"cron": f"TZ={zone} 30 2 * * *"}], since, 28)
        ]
        assert len(set(nights)) == (nights[-1] - nights[0]).days + 1 == 28
