"""Tools that only read: a task, the list of tasks, a long text by pages, and an earlier call with its effects."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import sqlalchemy as sa
from pydantic import Field

from core.clock import to_local_minute
from core.database import Scope
from core.errors import NotFoundError
from core.tools import CallContext, Effect, ToolResult
from runtime.cards import cards
from runtime.context.state import wait_state
from runtime.inbox import messages
from runtime.ports import EffectsOfCall, StateSource
from runtime.statuses import CallStatus
from runtime.tables import cards as cards_table
from runtime.tables import messages as messages_table
from runtime.tables import notices as notices_table
from runtime.tables import originals
from runtime.tasks import checklist, tasks
from runtime.tools.plan import CoreToolArguments, ShortLine
from runtime.turns import ledger_queries, rows
from runtime.turns.ledger import Call

PAGE = 7_000
"""Characters of a page; even a page of quotation marks, each of which JSON writes as two, fits into one result."""


def list_effects_of_call(scope: Scope, call_id: str) -> Sequence[Mapping[str, Any]]:
    """List the cards, messages and notices that a call has made; a card for several calls belongs to each of them."""
    return [
        *_card_effects(scope, call_id),
        *_effects_in(scope, messages_table, "message", call_id),
        *_effects_in(scope, notices_table, "notice", call_id),
    ]


def _card_effects(scope: Scope, call_id: str) -> list[Mapping[str, Any]]:
    turn_id, step, _ = call_id.rsplit(":", 2)
    decision = f"{turn_id}:{step}"
    query = scope.select(cards_table).where(
        sa.or_(cards_table.c.cause == call_id, cards_table.c.cause.startswith(f"{decision}:", autoescape=True))
    )
    return [
        {"kind": "card", "id": row.id, "card_kind": row.kind, "state": row.state, "option": row.answer_option}
        for row in scope.rows(query.order_by(cards_table.c.created_at, cards_table.c.id))
        if row.cause == call_id or row.cause.startswith(f"{call_id}:") or call_id in row.subject.get("call_ids", ())
    ]


def _effects_in(scope: Scope, table: sa.Table, kind: str, call_id: str) -> list[Mapping[str, Any]]:
    rows = scope.rows(scope.select(table.c.id).where(table.c.cause == call_id))
    return [{"kind": kind, "id": row.id} for row in rows]


class ReadTaskArguments(CoreToolArguments):
    task_id: ShortLine | None = None


class ReadTask:
    """Read a task: what it is to do, how far it is, what it waits for, and what was last said."""

    name = "read_task"
    domain = "core"
    effect = Effect.READ
    repeatable = True
    description = (
        "Read a task: goal, brief, status and its reason, checklist, what it waits for, open cards, orders, works and "
        "the last messages. Without an id: your own."
    )
    arguments = ReadTaskArguments

    def __init__(self, sources: Sequence[StateSource] = ()) -> None:
        """Take `sources`, which read what the rooms above the runtime know of a task."""
        self._sources = sources

    def run(self, call: CallContext, arguments: ReadTaskArguments) -> ToolResult:
        wanted = arguments.task_id or call.task_id
        if wanted is None:
            raise NotFoundError("Main is no task: name one by its task_id")
        with call.reading() as scope:
            task = tasks.get_task(scope, wanted)
            zone = scope.read_time_zone()
            content: dict[str, Any] = {
                "id": task.id,
                "kind": task.kind,
                "goal": task.goal,
                "brief": task.brief,
                "status": task.status,
                "reason": task.reason,
                "checklist": [
                    {"n": s.n, "title": s.title, "status": s.status} for s in checklist.list_checklist(scope, wanted)
                ],
                "waiting_on": wait_state(scope, wanted),
                "open_cards": [
                    {"id": card.id, "kind": card.kind, "title": card.title}
                    for card in cards.list_open_cards(scope, wanted)
                ],
                "messages": [
                    {"author": m.author, "at": to_local_minute(m.created_at, zone), "text": m.text[:1000]}
                    for m in messages.list_task_messages(scope, wanted, limit=10)
                ],
            }
            for source in self._sources:
                content.update(source(scope, wanted))
        return ToolResult(content)


class ListTasksArguments(CoreToolArguments):
    status: Annotated[str | None, Field(max_length=20)] = None


class ListTasks:
    """List the tasks of the workspace, the newest activity first."""

    name = "list_tasks"
    domain = "core"
    effect = Effect.READ
    repeatable = True
    description = "List tasks with goal and status, the newest activity first."
    arguments = ListTasksArguments

    def run(self, call: CallContext, arguments: ListTasksArguments) -> ToolResult:
        statuses = (arguments.status,) if arguments.status else ()
        with call.reading() as scope:
            found = tasks.list_tasks(scope, statuses, limit=30)
        return ToolResult(
            {"tasks": [{"id": t.id, "kind": t.kind, "goal": t.goal[:300], "status": t.status} for t in found]}
        )


class CheckCallArguments(CoreToolArguments):
    call_id: ShortLine


class CheckCall:
    """Look up a call of the same task in the ledger, and what it has made."""

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
        """Take `others`, which list the effects of a call in the rooms above the runtime."""
        self._sources: tuple[EffectsOfCall, ...] = (list_effects_of_call, *others)

    def run(self, call: CallContext, arguments: CheckCallArguments) -> ToolResult:
        with call.reading() as scope:
            known = _own_call(scope, call, arguments.call_id)
            effects = [dict(one) for source in self._sources for one in source(scope, known.id)]
        content = {"call_id": known.id, "tool": known.tool, "status": known.status, "result": known.result}
        if known.status == CallStatus.OUTCOME_UNKNOWN:
            content["outcome"] = "done_with_effects" if effects else "nothing_found"
        return ToolResult({**content, "effects": effects})


def _own_call(scope: Scope, call: CallContext, call_id: str) -> Call:
    """Return a call of this task, or of this turn of Main. Raises NotFoundError for any other call."""
    known = ledger_queries.get_call(scope, call_id)
    same_turn = known.turn_id == call.turn_id
    if not same_turn and (call.task_id is None or rows.get_turn(scope, known.turn_id).task_id != call.task_id):
        raise NotFoundError(f"no call {call_id} of this task")
    return known


class ReadBackArguments(CoreToolArguments):
    ref: ShortLine
    page: Annotated[int, Field(ge=1, le=10_000)] = 1


class ReadBack:
    """Read a long text by pages."""

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
    """Return the whole text of a stored original, a message, a call's result or a task's goal, by its id."""
    row = scope.first(scope.select(originals).where(originals.c.id == ref))
    if row is not None:
        return str(row.text)
    if messages.message_exists(scope, ref):
        return messages.get_message(scope, ref).text
    if ":" in ref:
        return json.dumps(_own_call(scope, call, ref).result, ensure_ascii=False, sort_keys=True)
    return tasks.get_task(scope, ref).goal
