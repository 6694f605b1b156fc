"""Tools that only look: a task, an earlier call, a long text by pages, the list of tasks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from core.database import Scope
from core.errors import NotFoundError
from core.tools import CallContext, Effect, ToolResult
from runtime import checklist, effects, messages, tasks
from runtime.sources import EffectsOfCall
from runtime.tables import originals
from runtime.tools.planning import Arguments, Line
from runtime.turns import ledger, rows
from runtime.turns.ledger import Call

PAGE = 7_000
"""Characters: a page of quotes, each written as two in JSON, still fits into one result."""


class ReadTaskArguments(Arguments):
    task_id: Line | None = None


class ReadTask:
    """A task with its checklist and last words."""

    name = "read_task"
    domain = "core"
    effect = Effect.READ
    repeatable = True
    description = "Read a task: goal, brief, status, checklist and the last messages. Without an id: your own."
    arguments = ReadTaskArguments

    def run(self, call: CallContext, arguments: ReadTaskArguments) -> ToolResult:
        wanted = arguments.task_id or call.task_id
        if wanted is None:
            raise NotFoundError("Main is no task: name one by its task_id")
        with call.reading() as scope:
            task = tasks.get(scope, wanted)
            said = [{"author": m.author, "text": m.text[:1000]} for m in messages.of_task(scope, wanted, limit=10)]
            steps = [{"n": s.n, "title": s.title, "status": s.status} for s in checklist.of_task(scope, wanted)]
        return ToolResult(
            {
                "id": task.id,
                "kind": task.kind,
                "goal": task.goal,
                "brief": task.brief,
                "status": task.status,
                "reason": task.reason,
                "checklist": steps,
                "messages": said,
            }
        )


class ListTasksArguments(Arguments):
    status: Annotated[str | None, Field(max_length=20)] = None


class ListTasks:
    """The tasks of the workspace, the newest activity first."""

    name = "list_tasks"
    domain = "core"
    effect = Effect.READ
    repeatable = True
    description = "List tasks with goal and status, the newest activity first."
    arguments = ListTasksArguments

    def run(self, call: CallContext, arguments: ListTasksArguments) -> ToolResult:
        statuses = (arguments.status,) if arguments.status else ()
        with call.reading() as scope:
            found = tasks.listing(scope, statuses, limit=30)
        return ToolResult(
            {"tasks": [{"id": t.id, "kind": t.kind, "goal": t.goal[:300], "status": t.status} for t in found]}
        )


class CheckCallArguments(Arguments):
    call_id: Line


class CheckCall:
    """What the ledger knows of a call of the same task, and what stands under its id."""

    name = "check_call"
    domain = "core"
    effect = Effect.READ
    repeatable = True
    description = (
        "Look up what became of an earlier call of this task by its call_id, before you decide to do it again. "
        "`effects` are the things that stand under it: where there are any, it has acted."
    )
    arguments = CheckCallArguments

    def __init__(self, others: Sequence[EffectsOfCall] = ()) -> None:
        """`others` answer for the rooms above the runtime."""
        self._sources: tuple[EffectsOfCall, ...] = (effects.of_call, *others)

    def run(self, call: CallContext, arguments: CheckCallArguments) -> ToolResult:
        with call.reading() as scope:
            known = _own_call(scope, call, arguments.call_id)
            stands = [dict(one) for source in self._sources for one in source(scope, known.id)]
        told = {"call_id": known.id, "tool": known.tool, "status": known.status, "result": known.result}
        if known.status == "outcome_unknown":
            told["outcome"] = "done_with_effects" if stands else "nothing_found"
        return ToolResult({**told, "effects": stands})


def _own_call(scope: Scope, call: CallContext, call_id: str) -> Call:
    """Raises NotFoundError for a call that another task, or Main for another message, has made."""
    known = ledger.get_call(scope, call_id)
    same_turn = known.turn_id == call.turn_id
    if not same_turn and (call.task_id is None or rows.get(scope, known.turn_id).task_id != call.task_id):
        raise NotFoundError(f"no call {call_id} of this task")
    return known


class ReadBackArguments(Arguments):
    ref: Line
    page: Annotated[int, Field(ge=1, le=10_000)] = 1


class ReadBack:
    """A long text by pages."""

    name = "read_back"
    domain = "core"
    effect = Effect.READ
    repeatable = True
    description = "Read a long message or result that was shortened: `ref` is the id that stands beside it."
    arguments = ReadBackArguments

    def run(self, call: CallContext, arguments: ReadBackArguments) -> ToolResult:
        with call.reading() as scope:
            text = _text_of(scope, call, arguments.ref)
        pages = max(1, -(-len(text) // PAGE))
        start = (arguments.page - 1) * PAGE
        return ToolResult({"page": arguments.page, "pages": pages, "text": text[start : start + PAGE]})


def _text_of(scope: Scope, call: CallContext, ref: str) -> str:
    row = scope.first(scope.select(originals).where(originals.c.id == ref))
    if row is not None:
        return str(row.text)
    if messages.exists(scope, ref):
        return messages.get(scope, ref).text
    if ":" in ref:
        return json.dumps(_own_call(scope, call, ref).result, ensure_ascii=False, sort_keys=True)
    return tasks.get(scope, ref).goal
