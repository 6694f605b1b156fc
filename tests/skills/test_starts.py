"""A daily schedule begins one run a local date."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from skills.starts import admit, local_date
from tests.support.databases import Store


@pytest.mark.parametrize(
    ("cron", "at", "date"),
    [
        ("0 8 * * *", "2026-03-02T08:00", "2026-03-02"),
        ("TZ=America/Lima 15 20 * * *", "2026-03-02T01:15", "2026-03-01"),
        ("CRON_TZ=Asia/Manila 30 7 * * 1-5", "2026-03-02T23:30", "2026-03-03"),
        ("TZ=America/New_York 30 1 * * *", "2026-11-01T05:30", "2026-11-01"),
        ("TZ=America/New_York 30 1 * * *", "2026-11-01T06:30", "2026-11-01"),
        # Another way to say once a day.
        ("0 */24 * * *", "2026-03-02T00:00", "2026-03-02"),
        ("TZ=Europe/Paris */60 2 * * *", "2026-10-25T01:00", "2026-10-25"),
        ("* 8 * * *", "2026-03-02T08:00", None),
        ("61 8 * * *", "2026-03-02T08:00", None),
        ("*/15 * * * *", "2026-03-02T08:00", None),
        ("0 */6 * * *", "2026-03-02T08:00", None),
        ("0,30 8 * * *", "2026-03-02T08:00", None),
        ("0 8-10 * * *", "2026-03-02T08:00", None),
        ("TZ=Nowhere/At_all 0 8 * * *", "2026-03-02T08:00", None),
        ("nonsense", "2026-03-02T08:00", None),
    ],
)
def test_the_date_of_a_daily_schedule(cron: str, at: str, date: str | None) -> None:
    assert local_date(cron, datetime.fromisoformat(at).replace(tzinfo=UTC)) == date


def test_one_run_a_date_and_again_for_the_same_run(store: Store) -> None:
    with store.database.transaction(store.workspace_id) as scope:
        assert admit(scope, "x", "daily", "0 8 * * *", "2026-03-02", "run_1")
        assert admit(scope, "x", "daily", "0 8 * * *", "2026-03-02", "run_1")
        assert not admit(scope, "x", "daily", "0 8  * * *", "2026-03-02", "run_2")
        assert admit(scope, "x", "daily", "0 8 * * *", "2026-03-03", "run_3")
        assert admit(scope, "x", "other", "0 8 * * *", "2026-03-02", "run_4")
        assert admit(scope, "y", "daily", "0 8 * * *", "2026-03-02", "run_5")


def test_each_of_two_daily_schedules_and_one_that_is_moved_begin_their_own_run_of_the_date(store: Store) -> None:
    with store.database.transaction(store.workspace_id) as scope:
        assert admit(scope, "x", "daily", "0 8 * * *", "2026-12-01", "morning")
        assert admit(scope, "x", "daily", "0 20 * * *", "2026-12-01", "evening")
        assert not admit(scope, "x", "daily", "0 20 * * *", "2026-12-01", "evening again")
        assert admit(scope, "x", "daily", "0 22 * * *", "2026-12-01", "moved")
