"""Fixtures of these tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.engines import RunningEngine, any_engine
from tests.support.sidecar import RunningSidecar, sidecar

__all__ = ["any_engine", "skills"]


@pytest.fixture
def skills(any_engine: RunningEngine, tmp_path: Path) -> Iterator[RunningSidecar]:
    """A running sidecar without a skill."""
    with sidecar(any_engine, tmp_path / "home") as running:
        yield running
