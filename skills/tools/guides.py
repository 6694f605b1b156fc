"""The tool that reads the guides."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from core.tools import CallContext, Effect, ToolResult
from skills.guide import guides, read_guide


class ReadGuideArguments(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: str | None = Field(None, max_length=80)


class ReadGuide:
    """How things are done here."""

    name = "read_guide"
    domain = "core"
    effect = Effect.READ
    repeatable = True
    description = (
        "Read a guide to how things are done here, such as `writing-skills` before you write or change a durable "
        "skill. Without a name: which guides there are."
    )
    arguments: type[BaseModel] = ReadGuideArguments

    def run(self, call: CallContext, arguments: ReadGuideArguments) -> ToolResult:
        if arguments.name is None:
            return ToolResult({"guides": [{"name": name, "title": title} for name, title in guides().items()]})
        return ToolResult({"name": arguments.name, "text": read_guide(arguments.name)})
