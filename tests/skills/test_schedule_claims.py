"""A daily schedule begins one run a local date."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, date, datetime

import pytest
from croniter import croniter

from skills.book.schedule_claims import ScheduledStart, claim_start, find_start
from skills.format.schedule import read_schedule, wrong_cron
from tests.support.databases import Store

DAILY = {
    "0 8 * * *": "0 8 * * *",
    "00 08 * * *": "0 8 * * *",
    "0 8-8 * * *": "0 8 * * *",
    "0-0 8-8/1 * * *": "0 8 * * *",
    "0 8,8 * * *": "0 8 * * *",
    "0,0 8-8,8 ? * ?": "0 8 * * *",
    "0/60 8/24 * * *": "0 8 * * *",
    "*/60 8 * * *": "0 8 * * *",
    "0-59/60 8 * * *": "0 8 * * *",
    "30/45 8/16 * * *": "30 8 * * *",
    "0 */24 * * *": "0 0 * * *",
    "0 0-23/24 * * *": "0 0 * * *",
    "TZ=UTC 0 8 * * *": "0 8 * * *",
    "0 8 * * MON": "0 8 * * 1",
    "0 8 * * mon-MON": "0 8 * * 1",
    "0 8 * * mon-fri": "0 8 * * 1,2,3,4,5",
    "0 8 * * 1-5": "0 8 * * 1,2,3,4,5",
    "0 8 * * 0": "0 8 * * 0",
    "0 8 1,15 * *": "0 8 1,15 * *",
    "0 8 1-7 * mon": "0 8 1,2,3,4,5,6,7 * 1",
    "0 8 29 2 *": "0 8 29 2 *",
    "0 8 29 FEB-2 *": "0 8 29 2 *",
    "0 8 */40 jan,JUL *": "0 8 1 1,7 *",
    "CRON_TZ=Asia/Manila 30 7 * * 1-5": "TZ=Asia/Manila 30 7 * * 1,2,3,4,5",
    "TZ=Europe/Paris */60 2 * * *": "TZ=Europe/Paris 0 2 * * *",
}
"""Each with the same moments in plain words."""
OFTENER = (
    "* 8 * * *",
    "*/15 * * * *",
    "0 * * * *",
    "? 8 * * *",
    "0 ? * * *",
    "0 */6 * * *",
    "0 */23 * * *",
    "0 8/12 * * *",
    "0 8,20 * * *",
    "0,30 8 * * *",
    "0/59 8 * * *",
    "0 8-9 * * *",
    "0 8-8,9 29 2 *",
    "TZ=America/New_York 30 1,13 * * MON",
)
UNREADABLE = (
    "",
    "nonsense",
    "61 8 * * *",
    "0 24 * * *",
    "0 0 8 * * *",
    "@daily",
    "0 */0 * * *",
    "0 8 * * funday",
    "0 8 mon * *",
    "0 8, * * *",
    "TZ=Nowhere/At_all 0 8 * * *",
)


@pytest.mark.parametrize(("cron", "plain"), DAILY.items())
def test_what_comes_once_a_date_is_a_daily_schedule_however_it_is_written(cron: str, plain: str) -> None:
    start = find_start(cron, datetime(2026, 3, 2, 12, tzinfo=UTC))
    assert start == ScheduledStart(plain, "2026-03-02")
    assert most_on_a_date(plain) == 1
    assert wrong_cron(cron) is None


@pytest.mark.parametrize("cron", OFTENER)
def test_what_comes_oftener_on_any_date_keeps_its_pace(cron: str) -> None:
    assert find_start(cron, datetime(2026, 3, 2, 12, tzinfo=UTC)) is None
    assert most_on_a_date(read_schedule(cron).text) > 1
    assert wrong_cron(cron) is None


@pytest.mark.parametrize("cron", UNREADABLE)
def test_what_no_engine_takes_is_no_daily_schedule(cron: str) -> None:
    assert find_start(cron, datetime(2026, 3, 2, 12, tzinfo=UTC)) is None
    assert wrong_cron(cron) is not None


@pytest.mark.parametrize(
    ("cron", "plain", "said"),
    [
        ("0 8 * * 7", "0 8 * * 0", "write 0"),
        ("0 8 * * 5-7", "0 8 * * 0,5,6", "write 0"),
        ("0 8 * * fri-mon", "0 8 * * 0,1,5,6", "backwards"),
        ("0 8 * nov-feb *", "0 8 * 1,2,11,12 *", "backwards"),
        ("TZ=UTC\t0 8 * * *", "0 8 * * *", "space"),
    ],
)
def test_what_only_some_engines_take_is_understood_but_not_written_anew(cron: str, plain: str, said: str) -> None:
    assert find_start(cron, datetime(2026, 3, 2, 12, tzinfo=UTC)) == ScheduledStart(plain, "2026-03-02")
    assert said in str(wrong_cron(cron))


@pytest.mark.parametrize(
    ("cron", "at", "date"),
    [
        ("TZ=America/Lima 15 20 * * *", "2026-03-02T01:15", "2026-03-01"),
        ("CRON_TZ=Asia/Manila 30 7 * * 1-5", "2026-03-02T23:30", "2026-03-03"),
        # An hour that comes twice, on both its occasions; and one that does not come, at the next minute that does.
        ("TZ=America/New_York 30 1-1 * * *", "2026-11-01T05:30", "2026-11-01"),
        ("TZ=America/New_York 30 1-1 * * *", "2026-11-01T06:30", "2026-11-01"),
        ("TZ=America/Havana 0 */24 * * *", "2026-11-01T04:00", "2026-11-01"),
        ("TZ=America/Havana 0 */24 * * *", "2026-11-01T05:00", "2026-11-01"),
        ("TZ=America/Havana 0 */24 * * *", "2026-03-08T05:00", "2026-03-08"),
        ("TZ=Europe/Paris 30 2 * * *", "2026-03-29T01:00", "2026-03-29"),
    ],
)
def test_the_date_is_that_of_the_schedules_zone(cron: str, at: str, date: str) -> None:
    start = find_start(cron, datetime.fromisoformat(at).replace(tzinfo=UTC))
    assert start is not None
    assert start.date == date


def test_a_schedule_of_some_hours_begins_once_at_a_time_that_comes_twice_and_one_of_every_hour_keeps_its_pace() -> None:
    some, every = "TZ=America/New_York */30 1-1,13 * * SUN", "TZ=America/New_York */30 * * * *"
    first, again = datetime(2026, 11, 1, 5, 30, tzinfo=UTC), datetime(2026, 11, 1, 6, 30, tzinfo=UTC)
    start = ScheduledStart("TZ=America/New_York 30 1 * * 0", "2026-11-01")
    assert find_start(some, first) == find_start(some, again) == start
    assert find_start(some, again.replace(minute=0)) == ScheduledStart("TZ=America/New_York 0 1 * * 0", "2026-11-01")
    assert find_start(some, datetime(2026, 11, 1, 18, 30, tzinfo=UTC)) is None
    assert find_start(every, first) is find_start(every, again) is None


def most_on_a_date(text: str) -> int:
    """How often a schedule in plain words comes on one local date, leap days included."""
    walk = croniter(text.rpartition("=")[2].split(" ", 1)[1] if "=" in text else text, datetime(2027, 12, 1))  # noqa: DTZ001
    dates: Counter[date] = Counter(walk.get_next(datetime).date() for _ in range(400))
    return max(dates.values())


def test_one_run_a_date_and_again_for_the_same_run(store: Store) -> None:
    with store.database.transaction(store.workspace_id) as scope:
        assert claim_start(scope, "x", "daily", ScheduledStart("0 8 * * *", "2026-03-02"), "run_1")
        assert claim_start(scope, "x", "daily", ScheduledStart("0 8 * * *", "2026-03-02"), "run_1")
        assert not claim_start(scope, "x", "daily", ScheduledStart("0 8 * * *", "2026-03-02"), "run_2")
        assert claim_start(scope, "x", "daily", ScheduledStart("0 8 * * *", "2026-03-03"), "run_3")
        assert claim_start(scope, "x", "other", ScheduledStart("0 8 * * *", "2026-03-02"), "run_4")
        assert claim_start(scope, "y", "daily", ScheduledStart("0 8 * * *", "2026-03-02"), "run_5")


def test_each_of_two_daily_schedules_and_one_that_is_moved_begin_their_own_run_of_the_date(store: Store) -> None:
    with store.database.transaction(store.workspace_id) as scope:
        assert claim_start(scope, "x", "daily", ScheduledStart("0 8 * * *", "2026-12-01"), "morning")
        assert claim_start(scope, "x", "daily", ScheduledStart("0 20 * * *", "2026-12-01"), "evening")
        assert not claim_start(scope, "x", "daily", ScheduledStart("0 20 * * *", "2026-12-01"), "evening again")
        assert claim_start(scope, "x", "daily", ScheduledStart("0 22 * * *", "2026-12-01"), "moved")
