"""The broker acts for a run only while it goes on, on the version that asks, and for no code that nobody checked."""

from __future__ import annotations

from dataclasses import replace

import pytest

from runtime import notices
from skills.book import runs
from skills.kit import Refused, notify
from tests.support.skill_world import RUN, SkillWorld, speak_for


def told(world: SkillWorld) -> list[str]:
    with world.reading() as scope:
        return [one.text.partition("] ")[2] for one in notices.list_newest_notices(scope)]


def refused(world: SkillWorld) -> list[tuple[str, str]]:
    return [(one.what, one.detail) for one in world.refused("watch")]


def test_a_run_that_ended_is_nobodys_any_more(world: SkillWorld) -> None:
    """Given a run on whose behalf the skill already asked, when it has ended, then its id opens nothing."""
    world.speak_as("watch", notify=["ops"])
    notify("ops", "while it ran")
    with world.store.database.transaction(world.store.workspace_id) as scope:
        runs.record_run_end(scope, RUN, "completed")

    with pytest.raises(Refused, match="has ended"):
        notify("ops", "afterwards")
    assert told(world) == ["while it ran"]
    assert refused(world) == [("run", f"{RUN} has ended")]


def test_a_run_of_another_version_is_not_its_own(world: SkillWorld) -> None:
    world.begin("watch", RUN)
    other = replace(world.identity("watch", {"notify": ["ops"]}), version_id="sv_newer")
    speak_for(world.socket(other), RUN)

    with pytest.raises(Refused, match="another version"):
        notify("ops", "as somebody else")
    assert told(world) == []
    assert [what for what, _ in refused(world)] == ["run"]


def test_code_that_is_loaded_is_refused_everything_until_it_is_admitted(world: SkillWorld) -> None:
    world.begin("watch", RUN)
    live = world.identity("watch", {"notify": ["ops"]})
    address = world.socket(replace(live, mode="loading"))
    speak_for(address, RUN)

    with pytest.raises(Refused, match="while its file was loaded"):
        notify("ops", "too early")
    world.broker.admit(live, address)
    notify("ops", "in time")

    assert told(world) == ["in time"]
    assert refused(world) == [("loading", "it asked for /notify while its file was loaded")]
