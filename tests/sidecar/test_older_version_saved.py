"""An older version saved again: by the agent it is a change like any other, by a person it is their word."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from runtime import notices
from sidecar.rollout.dependencies import RolloutRules
from sidecar.serve.registry import RegistryPauses
from sidecar.watch.folders import SkillFolder
from skills.book import runs, versions
from skills.folders import SHIPPED_FOLDER
from skills.lifecycle import control, save_status
from skills.tools import AgentSkillFolder, skill_tools
from tests.sidecar.local_registry import local_registry
from tests.sidecar.test_skill_lifecycle import announced, ran, serving_id
from tests.skills.agent import Agent
from tests.support.engines import RunningEngine
from tests.support.sidecar import RunningSidecar, hello
from tests.support.waiting import until

pytestmark = [pytest.mark.long, pytest.mark.engines("embedded")]

CHECK = "infra_health_check"


@pytest.fixture
def skills(any_engine: RunningEngine, tmp_path: Path) -> Iterator[RunningSidecar]:
    """A release with its skills beside the agent's."""
    home, release = tmp_path / "home", Path(shutil.copytree(SHIPPED_FOLDER, tmp_path / "shipped"))
    home.mkdir()
    rules, pauses = RolloutRules(canary_runs=1, shadow_runs=1), RegistryPauses(poll=0.2, shipped=0.2)
    folders = [SkillFolder(release, "shipped")]
    with local_registry(any_engine, home, rules=rules, pauses=pauses, folders=folders) as running:
        yield running


def test_the_agents_return_to_what_ships_is_tried_like_any_change_of_it(skills: RunningSidecar, tmp_path: Path) -> None:
    # Given the agent's change of a shipped skill in service, with a history
    until("what is shipped", lambda: skills.skill(CHECK), 60)
    with skills.writing() as scope:
        control.enable(scope, CHECK, "ann")
    skills.answer(CHECK, "grant")
    skills.live(CHECK, 1)
    agent = Agent(
        skills.database, skill_tools(AgentSkillFolder(home=tmp_path / "home", patience_seconds=60), skills.client)
    )
    lower, higher = "SENSITIVITY = 0.5", "SENSITIVITY = 1.0"
    less = [{"find": higher, "replace": lower}]
    agent.call("write_skill", name=CHECK, edits=less, base_version=1, reason="too many alarms")
    skills.live(CHECK, 2)
    with skills.writing() as scope:
        second = versions.get_version_by_number(scope, CHECK, 2)
        for n in range(2):
            runs.record_run_start(
                scope,
                run_id=f"run{n}",
                skill_id=CHECK,
                function_id="infra-health-check",
                version_id=second.id,
                stage="live",
                event={"name": "inngest/scheduled.timer", "data": {"cron": "*/30 * * * *"}},
            )
            runs.record_run_end(scope, f"run{n}", "completed", output={"status": "normal"}, attempts=1)

    # When it writes again what ships
    back = [{"find": lower, "replace": higher}]
    result = agent.call("write_skill", name=CHECK, edits=back, base_version=2, reason="alarms came too late")

    # Then that is tried while the change serves, and nobody is told of a release
    assert (result.content["version"], result.content["status"]) in {(1, "dry_run"), (1, "shadow")}
    until("its shadow", lambda: fate_of(skills, 1) == "shadow", 60)
    shown = skills.skill(CHECK)
    assert (shown["version"], shown["candidate"]) == (2, {"version": 1, "stage": "shadow"})
    with skills.reading() as scope:
        tried = versions.get_version_by_number(scope, CHECK, 1)
        assert tried.offered_by == ("agent", "turn_1:1:2")
        # Of those two runs nothing was recorded, and that is told.
        assert (tried.stage_facts["dry_run"]["runs"], tried.stage_facts["dry_run"]["silent"]) == (2, 2)
        assert not [one.text for one in notices.list_newest_notices(scope) if "came with this release" in one.text]


def test_a_person_who_puts_the_agents_older_text_back_is_asked_and_refused_nothing(skills: RunningSidecar) -> None:
    # Given two versions of the agent's, and a person's on top
    announced(skills, "mine", hello(1, "mine/asked"), None)
    skills.live("mine", 1)
    announced(skills, "mine", hello(2, "mine/asked"), serving_id(skills, "mine"), "call_2")
    skills.live("mine", 2)
    skills.save("mine", hello(3, "mine/asked"))
    skills.live("mine", 3)
    ran(skills, "mine", 1)

    # When the person undoes it, and one more, then each serves at once
    skills.save("mine", hello(2, "mine/asked"))
    skills.live("mine", 2)
    skills.save("mine", hello(1, "mine/asked"))
    assert skills.live("mine", 1)["problems"] == []

    # And when the agent brings one of them back, then that is a change of its own, upon what serves
    ran(skills, "mine", 2)
    late = announced(skills, "mine", hello(2, "mine/asked"), serving_id(skills, "mine"), "call_3")
    until("its shadow", lambda: fate_of(skills, 2, "mine") == "shadow", 60)
    assert skills.skill("mine")["version"] == 1
    with skills.reading() as scope:
        assert save_status.read_save_status(scope, "mine", late).state == "shadow"


def fate_of(skills: RunningSidecar, number: int, stem: str = CHECK) -> str:
    with skills.reading() as scope:
        return versions.get_version_by_number(scope, stem, number).stage
