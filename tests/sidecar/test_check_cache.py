"""What was checked once is known by its content: a start of the sidecar checks nothing anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from sidecar.serve.registry import RegistryPauses
from sidecar.watch.folders import SkillFile, SkillFolder
from skills.checks import check_source
from skills.folders import SHIPPED_FOLDER
from skills.format.problem import SkillProblem
from tests.sidecar.local_registry import local_registry
from tests.support.engines import RunningEngine
from tests.support.sidecar import RunningSidecar, hello
from tests.support.waiting import until

pytestmark = [pytest.mark.long, pytest.mark.engines("embedded")]

SOON = RegistryPauses(poll=0.2, shipped=0.2)
HERE = {"live": "active", "wrong": "refused", "incident_triage": "disabled", "infra_health_check": "disabled"}


def test_a_second_start_checks_no_file_that_is_as_it_was(any_engine: RunningEngine, tmp_path: Path) -> None:
    checked: list[str] = []

    def check(file: SkillFile) -> list[SkillProblem]:
        checked.append(file.stem)
        return check_source(file.source, file.stem, {})

    def settled(skills: RunningSidecar) -> bool:
        known = {stem: skills.skill(stem) for stem in HERE}
        looked_at = all(one.get("functions") or one.get("problems") for one in known.values())
        return looked_at and {stem: one["status"] for stem, one in known.items()} == HERE

    for start in (1, 2):
        with local_registry(
            any_engine, tmp_path, check=check, pauses=SOON, folders=[SkillFolder(SHIPPED_FOLDER, "shipped")]
        ) as skills:
            skills.save("live", hello(1, "live/asked"))
            skills.save("wrong", "import os\n" + hello(1, "wrong/asked"))
            until("each looked at", lambda: settled(skills), 90)
            if start == 2:
                # Something new is checked after them, so that they had their turn.
                skills.save("new", hello(1, "new/asked"))
                skills.live("new", 1)

    assert sorted(checked) == sorted([*HERE, "new"])
