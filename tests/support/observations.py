"""Lines that tests record about what they saw, listed at the end of a run."""

from __future__ import annotations

import pytest

OBSERVATION = "told"
"""The name under which a test records a line with `record_property`."""


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    lines = [
        str(line)
        for report in terminalreporter.getreports("passed")
        for name, line in report.user_properties
        if name == OBSERVATION
    ]
    if lines:
        terminalreporter.section("what the tests saw")
    for line in lines:
        terminalreporter.write_line(line)
