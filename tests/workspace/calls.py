"""Calls of a task's turn, as the ledger makes them."""

from __future__ import annotations

from typing import Any

from core.database import Database, Scope
from core.errors import LostError
from core.tools import CallContext, Tool, ToolResult
from tests.workspace.conftest import HOME


class Hold:
    """The right to act for a turn, until it is lost."""

    def __init__(self) -> None:
        self.lost = False

    def check(self, scope: Scope) -> None:
        if self.lost:
            raise LostError("another execution holds the turn")


class Turn:
    """A task's turn: every call has a new id, unless one is made again."""

    def __init__(self, database: Database, tools: tuple[Tool, ...], task_id: str | None) -> None:
        self.hold = Hold()
        self.task_id = task_id
        self.turn_id = f"turn_of_{task_id}"
        self._database = database
        self._tools = {tool.name: tool for tool in tools}
        self._calls = 0

    def call(self, name: str, again: int | None = None, **arguments: Any) -> ToolResult:
        if again is None:
            self._calls += 1
        context = CallContext(
            database=self._database,
            fence=self.hold,
            workspace_id=HOME,
            person_id="ann",
            asked_by="person",
            task_id=self.task_id,
            turn_id=self.turn_id,
            call_id=f"{self.turn_id}:1:{again or self._calls}",
            language="en",
        )
        tool = self._tools[name]
        return tool.run(context, tool.arguments.model_validate(arguments))
