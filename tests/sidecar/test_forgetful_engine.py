"""An engine that lost its state hears of every skill again."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from core.errors import UnavailableError
from core.orchestrator.registration import engine_lists_app
from sidecar.serve.registry import RegistryPauses
from tests.sidecar.local_registry import local_registry
from tests.support.engines import RunningEngine, embedded, inngest_dev, inngest_start, running
from tests.support.sidecar import RunningSidecar, hello
from tests.support.waiting import until

SKILLS = 6


@pytest.mark.long
@pytest.mark.parametrize("kind", [embedded, inngest_dev, inngest_start])
def test_an_engine_that_forgot_is_told_of_every_skill(kind: Callable[[Path], RunningEngine], tmp_path: Path) -> None:
    folder = tmp_path / "engine"
    folder.mkdir()
    with (
        running(kind(folder)) as engine,
        local_registry(engine, tmp_path / "home", pauses=RegistryPauses(registration=1)) as skills,
    ):
        for number in range(SKILLS):
            skills.save(f"known_{number}", hello(number, f"known/{number}"))
        for number in range(SKILLS):
            skills.live(f"known_{number}", 1)
        engine.kill()
        for file in [*folder.glob("engine.sqlite*"), *folder.glob(".inngest/main.db*")]:
            file.unlink()
        engine.start()

        for number in range(SKILLS):
            until(f"known_{number} known again", partial(_is_listed, skills, f"skill-known_{number}"), 60)
        for number in range(SKILLS):
            skills.ask(f"known/{number}")
            assert skills.outputs(f"skill-known_{number}/hello", 1) == [number]


def _is_listed(skills: RunningSidecar, app_id: str) -> bool:
    try:
        return engine_lists_app(skills.client, app_id)
    except UnavailableError:
        return False
