"""Which tools run while a person is asked at a checkpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from app.compose import compose_dependencies
from app.schema_upgrade import upgrade_schema
from core.settings import Settings
from core.tools import CallContext, Effect, ToolResult, is_held_at_checkpoint

NOT_HELD = {
    "set_brief",
    "create_checklist",
    "update_checklist",
    "ask_user",
    "finish",
    "propose_correction",
    "cancel_generation",
}
"""The tools that write and do not wait: they keep the plan, ask a person, or call something off."""


def test_every_tool_that_writes_is_held_but_for_these(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path, inngest_dev="1", jobs_url="http://127.0.0.1:1", model="any")
    upgrade_schema(settings)
    runtime = compose_dependencies(settings).runtime
    writing = [tool for tool in (*runtime.task_tools, *runtime.main_tools) if tool.effect is Effect.WRITE]

    assert {tool.name for tool in writing if not is_held_at_checkpoint(tool)} == NOT_HELD
    assert {tool.name for tool in writing if is_held_at_checkpoint(tool)} >= {"write_document", "write_skill"}


class Plain:
    """A tool from outside, which knows nothing of checkpoints; its domain is copied from one of ours."""

    name = "plain"
    domain = "core"
    repeatable = True
    description = ""
    arguments = BaseModel

    def __init__(self, effect: Effect) -> None:
        self.effect = effect

    def run(self, call: CallContext, arguments: Any) -> ToolResult:
        return ToolResult()


@pytest.mark.parametrize(
    ("effect", "held"),
    # Paid tools ask the guard; a tool that deletes only opens a card, which waits too.
    [(Effect.WRITE, True), (Effect.READ, False), (Effect.PAID, False), (Effect.IRREVERSIBLE, False)],
)
def test_a_tool_that_does_not_say_is_held_if_it_writes(effect: Effect, held: bool) -> None:
    assert is_held_at_checkpoint(Plain(effect)) is held


@pytest.mark.parametrize(("said", "held"), [(False, False), (True, True), (None, True), (0, True), ("", True)])
def test_only_a_plain_no_frees_a_tool(said: Any, held: bool) -> None:
    tool = Plain(Effect.WRITE)
    tool.held_at_checkpoint = said  # type: ignore[attr-defined]

    assert is_held_at_checkpoint(tool) is held
