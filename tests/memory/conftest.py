"""A world with a memory for each test, on both databases where those are asked for."""

from __future__ import annotations

import pytest

from tests.memory.world import MemoryWorld
from tests.support.databases import Store


@pytest.fixture
def world(store: Store) -> MemoryWorld:
    return MemoryWorld(store)
