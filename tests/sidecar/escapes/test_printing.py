"""What a skill prints reaches the log as text, and cannot fill it."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from sidecar.jail.isolation import Isolation
from tests.sidecar.escapes.conftest import LIMITS
from tests.support.jail_children import jailed
from tests.support.waiting import until

pytestmark = pytest.mark.long


@pytest.mark.parametrize("line", ["", "x", "x" * 100_000])
def test_short_lines_and_long_ones_fill_no_log(
    isolation: Isolation, tmp_path: Path, caplog: pytest.LogCaptureFixture, line: str
) -> None:
    caplog.set_level(logging.INFO, "sidecar.pool.child_output")

    with jailed(tmp_path, isolation, LIMITS) as prison:
        assert (
            prison.output(f"import os\nfor _ in range(400):\n    os.write(2, b{line!r} * 3 + b'\\n' * 300)\nreturn 1")
            == 1
        )
        until("the end of it", lambda: any("too much" in one.getMessage() for one in caplog.records))
    assert (
        sum(len(one.getMessage()) + 70 for one in caplog.records if one.name == "sidecar.pool.child_output") < 64 * 1024
    )


def test_it_is_printable_and_not_without_end(
    isolation: Isolation, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "sidecar.pool.child_output")

    def said() -> list[str]:
        return [record.getMessage() for record in caplog.records if record.name == "sidecar.pool.child_output"]

    with jailed(tmp_path, isolation, LIMITS) as prison:
        assert prison.output("print('good', chr(27) + '[2J', 'day')\nreturn 1") == 1
        until("what it printed", lambda: "skill subject: good \ufffd[2J day" in said())

        assert prison.output("for _ in range(20_000):\n    print('x' * 100)\nreturn 1") == 1
        until("the end of it", lambda: any("too much" in line for line in said()))
        assert prison.output("print('more')\nreturn 1") == 1
    assert sum(len(line) for line in said()) < 64 * 1024
    assert not any(line.endswith(": more") for line in said())
