"""The ledger: a decision with the calls it proposes, then each call as started, then its result. Ids are causes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from core.database import Scope
from core.errors import NotFoundError
from core.model import Decision
from core.tools import Effect, ToolResult
from runtime.tables import calls, originals, steps, turns
from runtime.turns.lease import TurnFence

LARGEST_RESULT = 16_000
"""Characters of a result that stand in the history; what is larger is stored once and read back by pages."""


@dataclass(frozen=True)
class Step:
    """One model decision; its calls are rows of their own."""

    turn_id: str
    n: int
    epoch: int
    text: str
    model: str
    tokens: int
    cached_tokens: int
    layers: Mapping[str, str]
    facts: tuple[str, ...]
    cut: bool
    refused: bool
    created_at: datetime


@dataclass(frozen=True)
class Call:
    """One tool call; `id` is `turn:step:seq`, `arguments` the model's text as it came."""

    id: str
    turn_id: str
    step: int
    seq: int
    tool: str
    effect: str
    arguments: str
    status: str
    epoch: int
    ok: bool | None
    result: Mapping[str, Any] | None
    result_ref: str | None
    started_at: datetime | None
    finished_at: datetime | None


def _step(row: sa.Row[Any]) -> Step:
    fields = dict(row._mapping)
    fields.pop("workspace_id")
    fields["facts"] = tuple(fields["facts"])
    return Step(**fields)


def _call(row: sa.Row[Any]) -> Call:
    fields = dict(row._mapping)
    fields.pop("workspace_id")
    return Call(**fields)


def step(scope: Scope, turn_id: str, n: int) -> Step | None:
    row = scope.first(scope.select(steps).where(steps.c.turn_id == turn_id, steps.c.n == n))
    return None if row is None else _step(row)


def steps_of(scope: Scope, turn_ids: Sequence[str]) -> list[Step]:
    """The steps of these turns; those of one turn in their order."""
    query = scope.select(steps).where(steps.c.turn_id.in_(turn_ids)).order_by(steps.c.turn_id, steps.c.n)
    return [_step(row) for row in scope.rows(query)]


def count_steps_of_task(scope: Scope, task_id: str) -> int:
    query = scope.select(sa.func.count(steps.c.n).label("n"), turns.c.task_id).where(
        turns.c.id == steps.c.turn_id, turns.c.task_id == task_id
    )
    return int(scope.scalar(query.group_by(turns.c.task_id)) or 0)


def newest_steps_of_task(scope: Scope, task_id: str, limit: int) -> list[Step]:
    """The last steps of a task over all its turns, oldest first."""
    query = (
        scope.select(*steps.c)
        .where(turns.c.id == steps.c.turn_id, turns.c.workspace_id == scope.workspace_id, turns.c.task_id == task_id)
        .order_by(turns.c.created_at.desc(), turns.c.id.desc(), steps.c.n.desc())
        .limit(limit)
    )
    return [_step(row) for row in reversed(scope.rows(query))]


def calls_of(scope: Scope, turn_ids: Sequence[str]) -> list[Call]:
    query = (
        scope.select(calls).where(calls.c.turn_id.in_(turn_ids)).order_by(calls.c.turn_id, calls.c.step, calls.c.seq)
    )
    return [_call(row) for row in scope.rows(query)]


def calls_of_step(scope: Scope, turn_id: str, n: int) -> list[Call]:
    query = scope.select(calls).where(calls.c.turn_id == turn_id, calls.c.step == n).order_by(calls.c.seq)
    return [_call(row) for row in scope.rows(query)]


def get_call(scope: Scope, call_id: str) -> Call:
    row = scope.first(scope.select(calls).where(calls.c.id == call_id))
    if row is None:
        raise NotFoundError(f"no call {call_id} in this workspace")
    return _call(row)


def record_decision(
    scope: Scope,
    fence: TurnFence,
    n: int,
    decision: Decision,
    effects: Mapping[str, Effect],
    layers: Mapping[str, str],
) -> None:
    """Store what the model decided before anything of it is done. A tool nobody knows is recorded as a read."""
    scope.insert(
        steps,
        turn_id=fence.turn_id,
        n=n,
        epoch=fence.epoch,
        text=decision.text,
        model=decision.model,
        tokens=decision.usage.tokens,
        cached_tokens=decision.usage.cached_tokens,
        layers=dict(layers),
        facts=[],
        cut=decision.cut,
        refused=decision.refused,
        created_at=scope.now,
    )
    for seq, proposed in enumerate(decision.calls):
        scope.insert(
            calls,
            id=f"{fence.turn_id}:{n}:{seq}",
            turn_id=fence.turn_id,
            step=n,
            seq=seq,
            tool=proposed.name[:80],
            effect=effects.get(proposed.name, Effect.READ).value,
            arguments=proposed.arguments,
            status="proposed",
            epoch=fence.epoch,
        )
    scope.changed("turn", fence.turn_id)


def record_start(scope: Scope, fence: TurnFence, call_id: str) -> None:
    """Part of the transaction that has claimed the lease, which is why nothing is checked again."""
    scope.change(
        scope.update(calls)
        .where(calls.c.id == call_id, calls.c.status.in_(("proposed", "started")))
        .values(status="started", epoch=fence.epoch, started_at=scope.now)
    )
    scope.changed("turn", fence.turn_id)


def record_no_start(scope: Scope, fence: TurnFence, call_id: str) -> None:
    """A tool said that it has begun nothing: the call stands as proposed again."""
    scope.change(
        scope.update(calls)
        .where(calls.c.id == call_id, calls.c.status == "started", calls.c.epoch == fence.epoch)
        .values(status="proposed", started_at=None)
    )
    scope.changed("turn", fence.turn_id)


def record_result(scope: Scope, fence: TurnFence, call: Call, status: str, result: ToolResult) -> None:
    """Store a call's only result, once, and free the lease."""
    text = json.dumps(result.content, ensure_ascii=False, sort_keys=True)
    content: Mapping[str, Any] = result.content
    reference = None
    if len(text) > LARGEST_RESULT:
        reference = keep_original(scope, call.id, text)
        content = {"stored_as": reference, "characters": len(text), "beginning": text[:2000]}
    scope.change(
        scope.update(calls)
        .where(calls.c.id == call.id, calls.c.status.in_(("proposed", "started")))
        .values(
            status=status,
            ok=result.ok,
            result=dict(content),
            result_ref=reference,
            epoch=fence.epoch,
            finished_at=scope.now,
        )
    )
    fence.release(scope)
    scope.changed("turn", fence.turn_id)


def keep_original(scope: Scope, cause: str, text: str) -> str:
    """Store a long text once per cause; answers its id, which `read_back` takes."""
    original_id = scope.ids.new("orig")
    if scope.insert_new(originals, id=original_id, cause=cause, text=text, created_at=scope.now):
        return original_id
    return str(scope.scalar(scope.select(originals.c.id).where(originals.c.cause == cause)))


def end_open_calls(scope: Scope, turn_id: str) -> None:
    """Close the books of a turn that was ended from outside: nothing stays `started` for ever."""
    for was, now in (("proposed", "cancelled"), ("started", "outcome_unknown")):
        scope.change(
            scope.update(calls)
            .where(calls.c.turn_id == turn_id, calls.c.status == was)
            .values(status=now, finished_at=scope.now)
        )
