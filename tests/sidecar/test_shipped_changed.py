"""The agent's change of a shipped skill: a version of this workspace, beside a file that stays as it ships."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from runtime import notices
from sidecar.serve.registry import RegistryPauses
from sidecar.watch.folders import SkillFolder
from skills.book import versions
from skills.folders import SHIPPED_FOLDER
from skills.lifecycle import control
from skills.tools import AgentSkillFolder, skill_tools
from tests.sidecar.local_registry import local_registry
from tests.skills.agent import Agent
from tests.support.engines import RunningEngine
from tests.support.sidecar import RunningSidecar, hello
from tests.support.waiting import until

pytestmark = [pytest.mark.long, pytest.mark.engines("embedded")]

CHECK = "infra_health_check"
LESS = [{"find": "SENSITIVITY = 1.0", "replace": "SENSITIVITY = 0.5"}]


@pytest.fixture
def release(tmp_path: Path) -> Path:
    """The folder of what ships, which a new release replaces."""
    return Path(shutil.copytree(SHIPPED_FOLDER, tmp_path / "shipped"))


def told(skills: RunningSidecar) -> list[str]:
    with skills.reading() as scope:
        return [notice.text for notice in notices.list_newest_notices(scope)]


def test_a_change_of_a_shipped_skill_serves_until_a_person_or_a_release_says_otherwise(
    any_engine: RunningEngine, tmp_path: Path, release: Path
) -> None:
    home, file = tmp_path / "home", release / f"{CHECK}.py"
    home.mkdir()
    before = file.read_bytes()
    starts = iter(range(10))

    @contextmanager
    def started() -> Iterator[RunningSidecar]:
        """A sidecar that has looked at everything that is there."""
        pauses, folders = RegistryPauses(poll=0.2, shipped=0.2), [SkillFolder(release, "shipped")]
        with local_registry(any_engine, home, pauses=pauses, folders=folders) as skills:
            until("what is shipped", lambda: skills.skill(CHECK), 60)
            new = f"new{next(starts)}"
            skills.save(new, hello(1, f"{new}/asked"))
            skills.live(new, 1)
            yield skills

    # Given a shipped skill that a person turned on
    with started() as skills:
        with skills.writing() as scope:
            control.enable(scope, CHECK, "ann")
        skills.answer(CHECK, "grant")
        skills.live(CHECK, 1)
        # When the agent changes it, then its change serves as a version upon the shipped one, and the file is as it was
        agent = Agent(skills.database, skill_tools(AgentSkillFolder(home=home, patience_seconds=60), skills.client))
        result = agent.call("write_skill", name=CHECK, edits=LESS, base_version=1, reason="too many alarms")
        assert (result.content["skill_id"], result.content["version"], result.content["status"]) == (CHECK, 2, "active")
        assert file.read_bytes() == before
        with skills.reading() as scope:
            first, second = (
                versions.get_version_by_number(scope, CHECK, 1),
                versions.get_version_by_number(scope, CHECK, 2),
            )
        assert (second.author, second.reason, second.parent_id) == ("agent", "too many alarms", first.id)
        read = agent.call("read_skill", name=CHECK).content
        assert (read["version"], "SENSITIVITY = 0.5" in read["source"]) == (2, True)
        # A change of what does not serve any longer has lost
        stale = agent.call("write_skill", name=CHECK, source=second.source + "\n", base_version=1, reason="late")
        assert (stale.ok, "based on version 1" in stale.content["problems"][0]["reason"]) == (False, True)
    # A start goes on with it, and with what a person went back to
    with started() as skills:
        assert skills.skill(CHECK)["version"] == 2
        with skills.writing() as scope:
            control.rollback(scope, CHECK, "ann")
        skills.live(CHECK, 1)
    with started() as skills:
        assert skills.skill(CHECK)["version"] == 1
        with skills.writing() as scope:
            control.rollback(scope, CHECK, "ann", 2)
        skills.live(CHECK, 2)
        # When a new release changes the file, then that serves, and people hear what is gone
        file.write_bytes(before + b"\n# Of the next release.\n")
        skills.live(CHECK, 3)
        assert any("came with this release and serves in place of version 2" in text for text in told(skills))
        with skills.writing() as scope:
            control.rollback(scope, CHECK, "ann", 2)
        skills.live(CHECK, 2)
    with started() as skills:
        assert skills.skill(CHECK)["version"] == 2
