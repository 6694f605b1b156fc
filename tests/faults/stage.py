"""What a case of dying processes plays on: a database, a studio, and processes that die at given points."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from generation.orders import Order
from runtime.tasks import Task
from tests.faults.dying import survive
from tests.generation.world import Studio, World, studio_provider, world_of
from tests.support.databases import Store


def commit(name: str) -> tuple[str, str]:
    """Both edges of a transaction's commit."""
    return f"{name}.before_commit", f"{name}.after_commit"


@dataclass
class Stage:
    """Nothing that holds a connection is handed from one process to the next."""

    store: Store
    folder: Path
    studio: Studio

    def world(self, **settings: Any) -> World:
        return world_of(self.store, self.folder / "home", studio_provider(self.studio), **settings)

    def die(self, entries: Sequence[str], act: Callable[[], object]) -> None:
        """Run `act` in processes that die at these points, one after the other, until one lives to the end."""
        survive(self.store, self.folder, entries, act)

    def ordered(self) -> tuple[Task, Order]:
        world = self.world()
        task = world.task()
        return task, world.order(task, world.turn(task))
