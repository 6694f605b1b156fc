"""Random lives of a workspace keep every promise: the same ones in every run here, new ones under load.

`PROPERTIES_EXAMPLES` sets how many new lives the load test tries (40 unless told otherwise).
"""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.properties.machine import Workspace

pytestmark = pytest.mark.long

# Shrinking a failure takes long and is worth it; slow examples and a deadline say nothing on a shared machine.
_EITHER = settings(deadline=None, database=None, suppress_health_check=list(HealthCheck), print_blob=True)


def test_random_lives_keep_every_promise() -> None:
    run_state_machine_as_test(
        Workspace, settings=settings(_EITHER, derandomize=True, max_examples=10, stateful_step_count=40)
    )


@pytest.mark.load
def test_many_new_lives_keep_every_promise() -> None:
    examples = int(os.environ.get("PROPERTIES_EXAMPLES", "40"))
    run_state_machine_as_test(
        Workspace,
        settings=settings(
            _EITHER, max_examples=examples, stateful_step_count=80, phases=(Phase.generate, Phase.shrink)
        ),
    )
