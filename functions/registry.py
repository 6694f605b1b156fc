"""Registry of the agent's durable functions."""

from __future__ import annotations

from typing import Any, Protocol

import inngest

from core.database import Database
from core.search.dependencies import SearchDependencies
from core.settings import Settings
from functions.answer_in_main import answer_in_main
from functions.forget import forget
from functions.generate import generate
from functions.notify import notify
from functions.on_run_failed import on_run_failed
from functions.record_skill_run import record_skill_run
from functions.remember import remember
from functions.review_skills import review_skills
from functions.route_message import route_message
from functions.run_turn import run_turn
from functions.sync_index import sync_index
from functions.watch import WatchPass, watch
from memory.dependencies import MemoryDependencies
from runtime.dependencies import RuntimeDependencies
from skills.review.dependencies import ReviewDependencies


class FunctionDependencies(Protocol):
    """The part of what the composition root hands in that the functions use."""

    @property
    def database(self) -> Database: ...
    @property
    def settings(self) -> Settings: ...
    @property
    def runtime(self) -> RuntimeDependencies: ...
    @property
    def review(self) -> ReviewDependencies: ...
    @property
    def search(self) -> SearchDependencies: ...
    @property
    def memory(self) -> MemoryDependencies: ...
    @property
    def watch_passes(self) -> tuple[WatchPass, ...]: ...


def make_functions(client: inngest.Inngest, dependencies: Any) -> list[inngest.Function[Any]]:
    """Make every durable function; `dependencies` fits `FunctionDependencies` and those of `generate` and routing."""
    return [
        route_message(client, dependencies),
        answer_in_main(client, dependencies.runtime),
        run_turn(client, dependencies.runtime),
        generate(client, dependencies),
        watch(
            client,
            dependencies.database,
            dependencies.runtime.pause,
            dependencies.runtime.patience,
            dependencies.watch_passes,
        ),
        notify(client, dependencies.database, dependencies.settings.webhook_of),
        review_skills(client, dependencies.review, dependencies.settings.timezone),
        on_run_failed(client, dependencies.review),
        record_skill_run(client, dependencies.database, dependencies.settings.skill_failures),
        sync_index(client, dependencies.search),
        remember(client, dependencies.memory),
        forget(client, dependencies.memory),
    ]
