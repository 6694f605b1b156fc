"""The tool that begins a run of a skill."""

from __future__ import annotations

import json
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from core.errors import ConflictError, InvalidError
from core.orchestrator.engine import Engine
from core.tools import CallContext, Effect, ToolResult
from skills import book, versions
from skills.invoking import chosen, event_name

_MOST_DATA = 100_000


class InvokeSkillArguments(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: str = Field(max_length=80)
    function: str | None = Field(None, max_length=128, description="which one, where the skill has several")
    data: dict[str, Any] = Field(default_factory=dict, description="becomes event.data")


class InvokeSkill:
    """Begin a run by hand."""

    name = "invoke_skill"
    domain = "skills"
    effect = Effect.WRITE
    repeatable = True
    description = (
        "Begin a run of a live skill now, whatever its triggers; `data` becomes `event.data`. The run goes on by "
        "itself: `skill_runs` shows what became of it."
    )
    arguments: type[BaseModel] = InvokeSkillArguments

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def run(self, call: CallContext, arguments: InvokeSkillArguments) -> ToolResult:
        if len(json.dumps(arguments.data)) > _MOST_DATA:
            raise InvalidError(f"data has more than {_MOST_DATA} characters: store it, and hand over where it is")
        with call.transaction("skill.invoked") as scope:
            skill = book.get(scope, arguments.name)
            if not skill.serves or skill.version_id is None:
                raise ConflictError(f"{skill.id} is {skill.status}: no run of it can begin", status=skill.status)
            function = chosen(versions.get(scope, skill.version_id), arguments.function)
        # An engine begins one run for an id, however often the event arrives.
        event = {"id": f"invoke:{call.call_id}", "name": event_name(skill.id, function), "data": arguments.data}
        ids = self._engine.send_all([event])
        return ToolResult({"skill_id": skill.id, "function": function, "event_id": next(iter(ids), event["id"])})
