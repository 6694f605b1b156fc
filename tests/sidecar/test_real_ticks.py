"""Schedules in real time, as each engine keeps them: what is saved, deleted, timed anew or renamed costs nobody else a
tick, and what left or has another time fires no more.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tests.sidecar.test_schedules import scheduled
from tests.support.sidecar import RunningSidecar, hello
from tests.support.waiting import until

pytestmark = [pytest.mark.load, pytest.mark.engines("embedded", "inngest")]

MINUTE = timedelta(minutes=1)
EVERY_MINUTE, NEW_YEAR = "* * * * *", "0 8 1 1 *"


def ticks(skills: RunningSidecar, function: str) -> list[datetime]:
    """The minutes for which a function ran so far; none of its runs failed."""
    runs = skills.runs(function)
    assert all(run["status"] != "failed" for run in runs), runs
    return sorted(datetime.fromisoformat(run["output"]) for run in runs if run["output"] is not None)


@pytest.mark.boundary(65)
@pytest.mark.case("B16")
def test_a_steady_skill_ticks_each_minute_and_a_removed_one_no_more(skills: RunningSidecar) -> None:
    for stem in ("steady", "leaving", "timed"):
        skills.save(stem, scheduled(EVERY_MINUTE))
    skills.save("edited", hello(0, "edited/asked"))
    for stem in ("steady", "leaving", "timed", "edited"):
        skills.live(stem, 1)
    functions = [f"skill-{stem}/scheduled" for stem in ("steady", "leaving", "timed")]
    until("each has ticked", lambda: all(ticks(skills, function) for function in functions), 100)

    # When one goes, one gets another time and then another name, and a fourth is saved well and badly all along
    (skills.folder / "leaving.py").unlink()
    skills.save("timed", scheduled(NEW_YEAR))
    until("retirement", lambda: skills.skill("leaving")["status"] == "retired", 30)
    skills.live("timed", 2, 30)
    skills.save("timed", scheduled(NEW_YEAR, "renamed"))
    skills.live("timed", 3, 30)
    moved = datetime.now(UTC)
    version = 1
    while (now := datetime.now(UTC)) < moved + 2 * MINUTE + timedelta(seconds=10):
        skills.save("edited", "def broken(:\n")
        until("the broken save told", lambda: skills.skill("edited")["problems"], 30)
        version += 1
        skills.save("edited", hello(version, "edited/asked"))
        skills.live("edited", version, 30)
        until("a while", lambda: datetime.now(UTC) > now + timedelta(seconds=5), 10, 1)

    # Then the steady one missed no minute, and the others had theirs before that and no more
    first, *_, last = kept = ticks(skills, "skill-steady/scheduled")
    assert kept == [first + n * MINUTE for n in range(len(kept))]
    assert last >= moved + MINUTE
    for stem in ("leaving", "timed"):
        assert ticks(skills, f"skill-{stem}/scheduled")[-1] < moved
    assert skills.runs("skill-timed/renamed") == []
