"""Dependencies of the runtime, handed in by the composition root."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from core.database import Database, Scope
from core.llm.port import Model
from core.tools import Tool
from runtime.ports import ObjectDescription, OpenOrders, StateSource
from runtime.turns.history_cache import HistoryCache
from runtime.turns.rows import Turn

ReadHook = Callable[[Scope, Turn, Sequence[str]], None]
"""Called when a turn ends, in its closing transaction, with the ids of the messages that it has read."""
InputSource = Callable[[Scope, str], Mapping[str, Any]]
"""Renders one input of a kind from its id, as JSON for the model."""


@dataclass(frozen=True)
class InputSources:
    """What renders inputs: a source for each kind that a room above the runtime owns, and the objects of messages."""

    by_kind: Mapping[str, InputSource]
    describe_object: ObjectDescription


def ignore_read_messages(scope: Scope, turn: Turn, message_ids: Sequence[str]) -> None:
    """Do nothing: the hook of a runtime without a memory."""


@dataclass(frozen=True)
class RuntimeDependencies:
    """What the runtime needs from outside.

    `task_tools` serve tasks and `main_tools` Main. `lease` is how long a step holds its turn without renewing,
    `patience` how long a turn may stay untouched before its run counts as lost, `pause` the time between two passes of
    the watch. A task is blocked, with a card, after `most_idle_rounds` turns in a row without a result or
    `most_turns_alone` without input.
    """

    database: Database
    model: Model
    task_tools: Sequence[Tool]
    main_tools: Sequence[Tool]
    state_sources: Sequence[StateSource]
    inputs: InputSources
    open_orders: OpenOrders
    lease: timedelta
    patience: timedelta
    pause: timedelta
    most_idle_rounds: int = 3
    most_turns_alone: int = 20
    on_messages_read: ReadHook = ignore_read_messages
    history_cache: HistoryCache = field(default_factory=HistoryCache, compare=False)

    def tools_for(self, task_id: str | None) -> Mapping[str, Tool]:
        """Return the tools of a task, by name; those of Main for None."""
        return {tool.name: tool for tool in (self.main_tools if task_id is None else self.task_tools)}
