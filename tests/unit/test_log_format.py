"""A log whose words are others'."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator

import pytest

from core.process.log_format import LogLineFormatter

HOSTILE = "odd\nINFO all is well\r\x1b[2J\u2028\x85end"


@pytest.fixture
def log() -> Iterator[tuple[logging.Logger, io.StringIO]]:
    written, log = io.StringIO(), logging.Logger("tests")
    handler = logging.StreamHandler(written)
    handler.setFormatter(LogLineFormatter())
    log.addHandler(handler)
    yield log, written
    handler.close()


def test_what_others_said_stays_in_its_line(log: tuple[logging.Logger, io.StringIO]) -> None:
    log[0].warning("skill %s refused: %s", "bad", HOSTILE)

    (line,) = log[1].getvalue().splitlines()
    assert line.endswith(r"skill bad refused: odd\nINFO all is well\r\x1b[2J\u2028\x85end")


def test_an_exception_stands_behind_a_mark(log: tuple[logging.Logger, io.StringIO]) -> None:
    try:
        raise ValueError(HOSTILE)
    except ValueError:
        log[0].exception("it broke")

    first, *rest = log[1].getvalue().splitlines()
    assert first.endswith("it broke")
    assert rest
    assert all(line.startswith("    | ") for line in rest)
    assert any(r"INFO all is well\r\x1b[2J" in line for line in rest)
