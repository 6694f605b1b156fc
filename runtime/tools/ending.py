"""The tool that ends a task's work."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from core.errors import RefusedError
from core.tools import CallContext, Effect, ToolResult
from runtime import checklist
from runtime.tools.planning import Arguments, task_of


class FinishArguments(Arguments):
    summary: Annotated[str, Field(min_length=1, max_length=6000)]


class Finish:
    """Say that the goal is reached; the checklist must agree."""

    name = "finish"
    domain = "core"
    effect = Effect.WRITE
    repeatable = True
    description = "End the work with a short summary for the person, once every step of the checklist is done."
    arguments = FinishArguments

    def run(self, call: CallContext, arguments: FinishArguments) -> ToolResult:
        with call.reading() as scope:
            left = [s.n for s in checklist.of_task(scope, task_of(call)) if s.status not in ("done", "skipped")]
        if left:
            named = ", ".join(str(n) for n in left)
            raise RefusedError(f"steps {named} of the checklist are not done; mark them with evidence first")
        return ToolResult({"summary": arguments.summary})
