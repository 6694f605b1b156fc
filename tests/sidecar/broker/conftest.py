"""Fixtures of these tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.databases import Store
from tests.support.skill_world import SkillWorld, skill_world


@pytest.fixture
def world(store: Store, tmp_path: Path) -> Iterator[SkillWorld]:
    with skill_world(store, tmp_path / "h") as made:
        yield made
