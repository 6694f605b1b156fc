"""Fixtures of these tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.engines import RunningEngine
from tests.support.sidecar import RunningSidecar, sidecar


@pytest.fixture(scope="module")
def skills(any_engine: RunningEngine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningSidecar]:
    """A running sidecar that the tests of a module share; each saves skills with names of its own."""
    with sidecar(any_engine, tmp_path_factory.mktemp("home")) as running:
        yield running
