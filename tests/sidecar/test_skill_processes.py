"""A skill's process is there while it is needed; two files of one name clash; what is shipped is off."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.bootstrap import PERSON_ID
from sidecar.rollout.dependencies import RolloutRules
from sidecar.serve.registry import RegistryPauses
from sidecar.watch.folders import SkillFolder
from skills.lifecycle import control
from tests.sidecar.local_registry import jail_folders, local_registry
from tests.support.engines import RunningEngine
from tests.support.sidecar import RunningSidecar, hello
from tests.support.waiting import until

pytestmark = [pytest.mark.long, pytest.mark.engines("embedded")]


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("people")


@pytest.fixture(scope="module")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shipped")
    (folder / "extra.py").write_text(hello(1, "extra/asked"))
    return folder


@pytest.fixture(scope="module")
def skills(
    any_engine: RunningEngine, people: Path, shipped: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningSidecar]:
    """Who is not called for two seconds is idle."""
    with local_registry(
        any_engine,
        tmp_path_factory.mktemp("home"),
        rules=RolloutRules(idle=2.0),
        pauses=RegistryPauses(settle=0.5, quiet=1, poll=0.2, shipped=0.5),
        folders=[SkillFolder(shipped, "shipped"), SkillFolder(people, "person")],
    ) as running:
        yield running


def test_an_idle_process_is_stopped_and_comes_back_with_the_next_call(skills: RunningSidecar) -> None:
    skills.save("dozes", hello(1, "dozes/asked"))
    skills.live("dozes", 1)
    until("only the spare", lambda: len(jail_folders(skills)) == 1, 60)
    skills.ask("dozes/asked")
    assert skills.outputs("skill-dozes/hello", 1) == [1]
    until("only the spare", lambda: len(jail_folders(skills)) == 1, 60)


def test_two_files_of_one_name_are_both_named_and_what_serves_goes_on(skills: RunningSidecar, people: Path) -> None:
    (people / "twice.py").write_text(hello(1, "twice/asked"))
    mine = skills.live("twice", 1)
    assert (mine["origin"], mine["source"]) == ("person", str(people / "twice.py"))
    skills.save("twice", hello(2, "twice/asked"))
    problem = until("the clash", lambda: skills.skill("twice")["problems"], 60)[0]
    assert str(people / "twice.py") in problem["reason"]
    assert str(skills.folder / "twice.py") in problem["reason"]
    assert (skills.skill("twice")["hash"], skills.skill("twice")["source"]) == (mine["hash"], mine["source"])
    skills.ask("twice/asked")
    assert skills.outputs("skill-twice/hello", 1) == [1]
    (skills.folder / "twice.py").unlink()
    until("no clash", lambda: not skills.skill("twice")["problems"], 60)

    # Where neither serves, neither begins to.
    (people / "both.py").write_text(hello(1, "both/asked"))
    skills.save("both", hello(2, "both/asked"))
    until("the clash", lambda: skills.skill("both").get("status") == "refused", 60)
    assert "are both called both" in skills.skill("both")["problems"][0]["reason"]
    (people / "both.py").unlink()
    assert skills.live("both", 1)["origin"] == "agent"


def test_what_is_shipped_is_off_until_a_person_turns_it_on(skills: RunningSidecar) -> None:
    until("it was looked at", lambda: skills.skill("extra").get("title"), 60)
    off = skills.skill("extra")
    assert (off["origin"], off["status"], off["version"]) == ("shipped", "disabled", None)
    with skills.writing() as scope:
        control.enable(scope, "extra", PERSON_ID)
    assert skills.live("extra", 1)["origin"] == "shipped"
    skills.ask("extra/asked")
    assert skills.outputs("skill-extra/hello", 1) == [1]


def test_only_what_was_saved_is_touched(skills: RunningSidecar) -> None:
    for number in range(3):
        skills.save(f"calm_{number}", hello(number, f"calm/{number}"))
    before = [skills.live(f"calm_{number}", 1) for number in range(3)]
    skills.save("calm_0", hello(9, "calm/0"))
    skills.live("calm_0", 2)
    time.sleep(0.5)
    assert [skills.skill(f"calm_{number}") for number in (1, 2)] == before[1:]
