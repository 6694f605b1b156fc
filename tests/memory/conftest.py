"""A world with a memory for each test, on both databases where those are asked for."""

from __future__ import annotations

import pytest

from tests.memory.world import World
from tests.support.databases import Store


@pytest.fixture
def world(store: Store) -> World:
    return World(store)
