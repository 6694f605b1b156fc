"""One studio for a module, told to misbehave by each test; one workspace for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.generation.world import GenerationWorld, StudioOfTests, studio, studio_provider, world_of
from tests.support.databases import Store


@pytest.fixture(scope="module")
def studio_of_module(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StudioOfTests]:
    with studio(tmp_path_factory.mktemp("studio")) as running:
        yield running


@pytest.fixture
def the_studio(studio_of_module: StudioOfTests) -> Iterator[StudioOfTests]:
    studio_of_module.heal()
    yield studio_of_module
    studio_of_module.heal()


@pytest.fixture
def slow_studio(tmp_path: Path) -> Iterator[StudioOfTests]:
    """One that is not done before the test has acted."""
    with studio(tmp_path / "slow", pace=60) as running:
        yield running


@pytest.fixture
def world(store: Store, tmp_path: Path, the_studio: StudioOfTests) -> GenerationWorld:
    return world_of(store, tmp_path / "home", studio_provider(the_studio))
