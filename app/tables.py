"""Every table of the product on one metadata: what migrations must build."""

from __future__ import annotations

from types import ModuleType

import sqlalchemy as sa

import core.search.tables
import generation.tables
import memory.tables
import runtime.tables
import skills.tables
import workspace.tables
from core.tables import metadata

ROOMS: tuple[ModuleType, ...] = (
    core.search.tables,
    runtime.tables,
    workspace.tables,
    generation.tables,
    skills.tables,
    memory.tables,
)
"""The rooms whose tables stand on the metadata; naming them here is what imports them."""


def whole() -> sa.MetaData:
    return metadata
