"""Dependencies of the runtime, handed in by the composition root."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from core.database import Database, Scope
from core.llm.port import Model
from core.tools import Tool
from runtime.ports import OpenOrders, StateSource
from runtime.turns.history_cache import HistoryCache
from runtime.turns.rows import Turn

ReadHook = Callable[[Scope, Turn, Sequence[str]], None]
"""Told at the end of a turn, in its closing transaction, which messages it has read."""
InputSource = Callable[[Scope, str], Mapping[str, Any]]
"""Renders one input of a kind from its id, as JSON for the model."""


def ignore_read_messages(scope: Scope, turn: Turn, message_ids: Sequence[str]) -> None:
    """For a runtime beside which nothing listens."""


@dataclass(frozen=True)
class RuntimeDependencies:
    """`worker_tools` serve tasks and `main_tools` Main; `inputs` renders inputs by kind (`outcome`, `object`).

    `lease` is how long a step holds its turn without a sign of life, `patience` how long a turn may stand untouched
    before its run counts as lost, `pause` the time between two passes of the watch. `most_idle_rounds` turns in a row
    without a result, or `most_turns_alone` without anything to read, stop a task on a card.
    """

    database: Database
    model: Model
    worker_tools: Sequence[Tool]
    main_tools: Sequence[Tool]
    state_sources: Sequence[StateSource]
    inputs: Mapping[str, InputSource]
    open_orders: OpenOrders
    lease: timedelta
    patience: timedelta
    pause: timedelta
    most_idle_rounds: int = 3
    most_turns_alone: int = 20
    when_read: ReadHook = ignore_read_messages
    memory: HistoryCache = field(default_factory=HistoryCache, compare=False)

    def tools_for(self, task_id: str | None) -> Mapping[str, Tool]:
        return {tool.name: tool for tool in (self.main_tools if task_id is None else self.worker_tools)}
