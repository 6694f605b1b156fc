"""The surroundings of a case of dying processes: a database, a studio, and processes that die at given points."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from generation.orders.order import Order
from generation.providers.jobs import JobsProvider
from runtime.tasks.tasks import Task
from tests.faults.dying import survive
from tests.generation.world import GenerationWorld, StudioOfTests, world_of
from tests.studio.running import KEY
from tests.support.databases import Store


def commit(name: str) -> tuple[str, str]:
    """Return both edges of a transaction's commit."""
    return f"{name}.before_commit", f"{name}.after_commit"


@dataclass
class Stage:
    """A database and a studio; no connection is handed from one process to the next."""

    store: Store
    folder: Path
    studio: StudioOfTests
    providers: list[JobsProvider] = field(default_factory=list)

    def world(self, **settings: Any) -> GenerationWorld:
        provider = JobsProvider("studio", self.studio.url, SecretStr(KEY))
        self.providers.append(provider)
        return world_of(self.store, self.folder / "home", provider, **settings)

    def die(self, entries: Sequence[str], act: Callable[[], object]) -> None:
        """Run `act` in processes that die at these points, one after the other, until one lives to the end."""
        survive(self.store, self.folder, entries, act)

    def ordered(self) -> tuple[Task, Order]:
        world = self.world()
        task = world.task()
        return task, world.order(task, world.turn(task))
