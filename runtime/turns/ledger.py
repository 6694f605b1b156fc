"""The ledger: a decision with the calls it proposes, then each call as started, then its result. Ids are causes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.sql.dml import Update

from core import statements
from core.database import Scope
from core.errors import NotFoundError
from core.llm.port import Decision
from core.tools import Effect, ToolResult
from runtime.tables import calls, inbox, originals, steps, turns
from runtime.turns.lease import TurnFence
from runtime.turns.repeats import EarlierCall, FailedCall, digest_wish

FINISHED_CALL_STATUSES = ("done", "failed", "cancelled", "outcome_unknown")
"""What a call's status ends with."""
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
    """One tool call; `id` is `turn:step:seq`, `arguments` the model's text as it came, `wish` its digest."""

    id: str
    turn_id: str
    step: int
    seq: int
    tool: str
    effect: str
    arguments: str
    wish: str
    status: str
    epoch: int
    ok: bool | None
    result: Mapping[str, Any] | None
    result_ref: str | None
    started_at: datetime | None
    finished_at: datetime | None


@dataclass(frozen=True)
class TurnGrowth:
    """Steps and calls in their order, and whether any of these steps has read an input."""

    taken: tuple[Step, ...]
    made: tuple[Call, ...]
    has_read: bool


def _step_from_row(row: sa.Row[Any]) -> Step:
    found = dict(row._mapping)
    found.pop("workspace_id")
    return _step_from(found)


def _step_from(found: dict[str, Any]) -> Step:
    return Step(**{**found, "facts": tuple(found["facts"])})


_CALL_FIELDS = tuple(field.name for field in fields(Call))


def call_from_row(row: sa.Row[Any]) -> Call:
    """The call of a row that has all columns of its table, and perhaps more."""
    found = row._mapping
    return Call(**{name: found[name] for name in _CALL_FIELDS})


_TURN: sa.BindParameter[str] = sa.bindparam("turn")
_STEP: sa.BindParameter[int] = sa.bindparam("of_step")
_TURNS: sa.BindParameter[Any] = sa.bindparam("of_turns", expanding=True)
_ONE_STEP = statements.select(steps).where(steps.c.turn_id == _TURN, steps.c.n == _STEP)
_STEPS_OF = statements.select(steps).where(steps.c.turn_id.in_(_TURNS)).order_by(steps.c.turn_id, steps.c.n)
_COUNT = (
    statements.select(sa.func.count(steps.c.n).label("n"), turns.c.task_id)
    .where(turns.c.id == steps.c.turn_id, turns.c.task_id == sa.bindparam("task"))
    .group_by(turns.c.task_id)
)
_NEWEST = (
    statements.select(*steps.c)
    .where(
        turns.c.id == steps.c.turn_id,
        turns.c.workspace_id == steps.c.workspace_id,
        turns.c.task_id == sa.bindparam("task"),
    )
    .order_by(turns.c.created_at.desc(), turns.c.id.desc(), steps.c.n.desc())
    .limit(sa.bindparam("most"))
)
_CALL = statements.select(calls).where(calls.c.id == sa.bindparam("call"))
_CALLS_OF = (
    statements.select(calls).where(calls.c.turn_id.in_(_TURNS)).order_by(calls.c.turn_id, calls.c.step, calls.c.seq)
)
_CALLS_OF_STEP = statements.select(calls).where(calls.c.turn_id == _TURN, calls.c.step == _STEP).order_by(calls.c.seq)
_STEP_COLUMNS = [column for column in steps.c if column is not steps.c.workspace_id]
_CALL_COLUMNS = [column for column in calls.c if column is not calls.c.workspace_id]
_GROWTH = (
    statements.select(
        sa.exists()
        .where(
            inbox.c.workspace_id == steps.c.workspace_id,
            inbox.c.turn_id == steps.c.turn_id,
            inbox.c.step == steps.c.n,
            inbox.c.state == "consumed",
        )
        .label("has_read"),
        *(column.label(f"step_{column.name}") for column in _STEP_COLUMNS),
        *(column.label(f"call_{column.name}") for column in _CALL_COLUMNS),
    )
    .select_from(
        steps.outerjoin(
            calls,
            sa.and_(
                calls.c.workspace_id == steps.c.workspace_id,
                calls.c.turn_id == steps.c.turn_id,
                calls.c.step == steps.c.n,
            ),
        )
    )
    .where(steps.c.turn_id == _TURN, steps.c.n > _STEP)
    .order_by(steps.c.n, calls.c.seq)
)
_UNFINISHED = statements.update(calls).where(
    calls.c.id == sa.bindparam("call"), statements.one_of(calls.c.status, "proposed", "started")
)
_START = _UNFINISHED.values(status="started", epoch=sa.bindparam("at_epoch"), started_at=sa.bindparam("now"))
_BROUGHT: dict[str, sa.BindParameter[Any]] = {
    "status": sa.bindparam("ends"),
    "ok": sa.bindparam("well"),
    "result": sa.bindparam("content"),
    "result_ref": sa.bindparam("reference"),
    "epoch": sa.bindparam("at_epoch"),
    "finished_at": sa.bindparam("now"),
}
_RESULT = _UNFINISHED.values(**_BROUGHT)
_LATE = (
    statements.update(calls)
    .where(calls.c.id == sa.bindparam("call"), calls.c.status == "outcome_unknown")
    .values(**_BROUGHT)
)
_LIKE = (
    statements.select(calls.c.step, calls.c.result)
    .where(calls.c.turn_id == _TURN, calls.c.wish == sa.bindparam("wished"), calls.c.step < _STEP, calls.c.ok)
    .order_by(calls.c.step, calls.c.seq)
)
_FAILED = (
    statements.select(calls.c.step, calls.c.tool, calls.c.wish, calls.c.result)
    .where(calls.c.turn_id == _TURN, calls.c.status == "failed", ~calls.c.ok)
    .order_by(calls.c.step, calls.c.seq)
)


def find_step(scope: Scope, turn_id: str, n: int) -> Step | None:
    row = scope.first(_ONE_STEP, turn=turn_id, of_step=n)
    return None if row is None else _step_from_row(row)


def list_steps(scope: Scope, turn_ids: Sequence[str]) -> list[Step]:
    """The steps of these turns; those of one turn in their order."""
    return [_step_from_row(row) for row in scope.rows(_STEPS_OF, of_turns=list(turn_ids))]


def count_steps_of_task(scope: Scope, task_id: str) -> int:
    return int(scope.scalar(_COUNT, task=task_id) or 0)


def list_newest_steps_of_task(scope: Scope, task_id: str, limit: int) -> list[Step]:
    """The last steps of a task over all its turns, oldest first."""
    return [_step_from_row(row) for row in reversed(scope.rows(_NEWEST, task=task_id, most=limit))]


def list_calls(scope: Scope, turn_ids: Sequence[str]) -> list[Call]:
    return [call_from_row(row) for row in scope.rows(_CALLS_OF, of_turns=list(turn_ids))]


def list_calls_of_step(scope: Scope, turn_id: str, n: int) -> list[Call]:
    return [call_from_row(row) for row in scope.rows(_CALLS_OF_STEP, turn=turn_id, of_step=n)]


def read_growth(scope: Scope, turn_id: str, n: int) -> TurnGrowth:
    """What a turn has done after step `n`."""
    taken: list[Step] = []
    made: list[Call] = []
    has_read = False
    for row in scope.rows(_GROWTH, turn=turn_id, of_step=n):
        found = row._mapping
        if not taken or taken[-1].n != found["step_n"]:
            taken.append(_step_from({column.name: found[f"step_{column.name}"] for column in _STEP_COLUMNS}))
            has_read = has_read or found["has_read"]
        if found["call_id"] is not None:
            made.append(Call(**{column.name: found[f"call_{column.name}"] for column in _CALL_COLUMNS}))
    return TurnGrowth(tuple(taken), tuple(made), has_read)


def get_call(scope: Scope, call_id: str) -> Call:
    row = scope.first(_CALL, call=call_id)
    if row is None:
        raise NotFoundError(f"no call {call_id} in this workspace")
    return call_from_row(row)


def list_same_calls(scope: Scope, call: Call) -> list[EarlierCall]:
    """The calls of earlier steps of the turn that asked for the same and succeeded."""
    rows = scope.rows(_LIKE, turn=call.turn_id, wished=call.wish, of_step=call.step)
    return [EarlierCall(row.step, row.result) for row in rows]


def list_failed_calls(scope: Scope, turn_id: str) -> list[FailedCall]:
    """The calls of a turn that have failed, in their order."""
    return [FailedCall(row.step, row.tool, row.wish, row.result) for row in scope.rows(_FAILED, turn=turn_id)]


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
    scope.insert_all(
        calls,
        [
            {
                "id": f"{fence.turn_id}:{n}:{seq}",
                "turn_id": fence.turn_id,
                "step": n,
                "seq": seq,
                "tool": proposed.name[:80],
                "effect": effects.get(proposed.name, Effect.READ).value,
                "arguments": proposed.arguments,
                "wish": digest_wish(proposed.name[:80], proposed.arguments),
                "status": "proposed",
                "epoch": fence.epoch,
            }
            for seq, proposed in enumerate(decision.calls)
        ],
    )
    scope.changed("turn", fence.turn_id)


def record_start(scope: Scope, fence: TurnFence, call_id: str) -> None:
    """Part of the transaction that has claimed the lease, which is why nothing is checked again."""
    scope.change(_START, call=call_id, now=scope.now, at_epoch=fence.epoch)
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
    """Free the lease and store a call's only result, once. Raises LostError when the lease is no longer held."""
    fence.release(scope)
    _write_result(scope, _RESULT, fence, call, status, result)
    scope.changed("turn", fence.turn_id)


def record_late_result(scope: Scope, fence: TurnFence, call: Call, status: str, result: ToolResult) -> bool:
    """Keep for the record what a call brought after its turn was stopped; nobody acts on it.

    Only in the place of an unknown outcome, and of a call that nobody has taken over.
    """
    turn = scope.first(scope.select(turns.c.status).where(turns.c.id == fence.turn_id).with_for_update(key_share=True))
    known = get_call(scope, call.id)
    if turn is None or turn.status != "stopped" or (known.status, known.epoch) != ("outcome_unknown", fence.epoch):
        return False
    _write_result(scope, _LATE, fence, call, status, result)
    scope.changed("turn", fence.turn_id)
    return True


def _write_result(
    scope: Scope, statement: Update, fence: TurnFence, call: Call, status: str, result: ToolResult
) -> None:
    text = json.dumps(result.content, ensure_ascii=False, sort_keys=True)
    content: Mapping[str, Any] = result.content
    reference = None
    if len(text) > LARGEST_RESULT:
        reference = store_original(scope, call.id, text)
        content = {"stored_as": reference, "characters": len(text), "beginning": text[:2000]}
    scope.change(
        statement,
        call=call.id,
        ends=status,
        well=result.ok,
        content=dict(content),
        reference=reference,
        at_epoch=fence.epoch,
        now=scope.now,
    )


def store_original(scope: Scope, cause: str, text: str) -> str:
    """Store a long text once per cause; answers its id, which `read_back` takes."""
    original_id = scope.ids.new("orig")
    if scope.insert_new(originals, id=original_id, cause=cause, text=text, created_at=scope.now):
        return original_id
    return str(scope.scalar(scope.select(originals.c.id).where(originals.c.cause == cause)))


def record_facts(scope: Scope, turn_id: str, n: int, fact_ids: Sequence[str]) -> None:
    """A step relies on these facts of the memory from now on."""
    mine = scope.select(steps.c.facts).where(steps.c.turn_id == turn_id, steps.c.n == n)
    row = scope.first(mine)
    if row is not None:
        known = list(dict.fromkeys([*row.facts, *fact_ids]))
        scope.change(scope.update(steps).where(steps.c.turn_id == turn_id, steps.c.n == n).values(facts=known))


def forget_results(scope: Scope, call_ids: Sequence[str], content: Mapping[str, Any]) -> int:
    """Put `content` in the place of what these calls brought; answers how many there were. No later step reads it."""
    texts = scope.update(originals).where(originals.c.cause.in_(list(call_ids)))
    scope.change(texts.values(text=json.dumps(content)))
    return scope.change(scope.update(calls).where(calls.c.id.in_(list(call_ids))).values(result=dict(content)))


def end_open_calls(scope: Scope, turn_id: str) -> None:
    """Close the books of a turn that was ended from outside: nothing stays `started` for ever."""
    for was, now in (("proposed", "cancelled"), ("started", "outcome_unknown")):
        scope.change(
            scope.update(calls)
            .where(calls.c.turn_id == turn_id, calls.c.status == was)
            .values(status=now, finished_at=scope.now)
        )
