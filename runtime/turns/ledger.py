"""The ledger: a decision with the calls it proposes, then each call as started, then its result.

Ids are made from what caused a row, such as `turn:step:seq` for a call, so that a repeated step writes nothing twice.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.sql.dml import Update

from core.database import Scope
from core.llm.port import Decision
from core.sql import statements
from core.tools import Effect, ToolResult
from runtime.statuses import UNFINISHED_CALL_STATUSES, CallStatus, TurnStatus
from runtime.tables import calls, originals, steps, turns
from runtime.turns.lease import TurnFence
from runtime.turns.proceed import digest_wish

LARGEST_RESULT = 16_000
"""Characters of a result that the history shows; a larger one is stored as an original and read back by pages."""
_UNFINISHED = statements.update(calls).where(
    calls.c.id == sa.bindparam("call"), statements.one_of(calls.c.status, *UNFINISHED_CALL_STATUSES)
)
_START = _UNFINISHED.values(status=CallStatus.STARTED, epoch=sa.bindparam("at_epoch"), started_at=sa.bindparam("now"))
_RESULT_VALUES: dict[str, sa.BindParameter[Any]] = {
    "status": sa.bindparam("ends"),
    "ok": sa.bindparam("well"),
    "result": sa.bindparam("content"),
    "result_ref": sa.bindparam("reference"),
    "epoch": sa.bindparam("at_epoch"),
    "finished_at": sa.bindparam("now"),
}
_RESULT = _UNFINISHED.values(**_RESULT_VALUES)
_LATE = (
    statements.update(calls)
    .where(calls.c.id == sa.bindparam("call"), calls.c.status == CallStatus.OUTCOME_UNKNOWN)
    .values(**_RESULT_VALUES)
)


@dataclass(frozen=True)
class Step:
    """One model decision; its calls are rows of another table.

    `layers` are digests of the parts of the request, `facts` the ids of what the memory gave. `cut` and `refused` are
    those of the decision.
    """

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
    """One tool call; `id` is `turn:step:seq`, `arguments` the model's text unchanged, `wish` the digest of the call."""

    id: str
    turn_id: str
    step: int
    seq: int
    tool: str
    effect: str
    arguments: str
    wish: str
    status: CallStatus
    epoch: int
    ok: bool | None
    result: Mapping[str, Any] | None
    result_ref: str | None
    started_at: datetime | None
    finished_at: datetime | None


def record_decision(
    scope: Scope,
    fence: TurnFence,
    n: int,
    decision: Decision,
    effects: Mapping[str, Effect],
    layers: Mapping[str, str],
) -> None:
    """Store a decision before any of its calls starts. A call of an unknown tool is recorded as a read."""
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
                "status": CallStatus.PROPOSED,
                "epoch": fence.epoch,
            }
            for seq, proposed in enumerate(decision.calls)
        ],
    )
    scope.changed("turn", fence.turn_id)


def record_start(scope: Scope, fence: TurnFence, call_id: str) -> None:
    """Record that a call starts, in the transaction that has acquired the lease; so the fence is not checked again."""
    scope.change(_START, call=call_id, now=scope.now, at_epoch=fence.epoch)
    scope.changed("turn", fence.turn_id)


def record_no_start(scope: Scope, fence: TurnFence, call_id: str) -> None:
    """Make a started call proposed again, since its tool reported that it has begun nothing."""
    scope.change(
        scope.update(calls)
        .where(calls.c.id == call_id, calls.c.status == CallStatus.STARTED, calls.c.epoch == fence.epoch)
        .values(status=CallStatus.PROPOSED, started_at=None)
    )
    scope.changed("turn", fence.turn_id)


def record_result(scope: Scope, fence: TurnFence, call: Call, status: CallStatus, result: ToolResult) -> None:
    """Release the lease and store a call's result, once. Raises LostError when the lease is no longer held."""
    fence.release(scope)
    _write_result(scope, _RESULT, fence, call, status, result)
    scope.changed("turn", fence.turn_id)


def record_late_result(scope: Scope, fence: TurnFence, call: Call, status: CallStatus, result: ToolResult) -> bool:
    """Store the result of a call that ended after its turn was stopped, for the record only.

    It replaces an unknown outcome, and only if no other execution has taken the call over; otherwise return False.
    """
    turn = scope.first(scope.select(turns.c.status).where(turns.c.id == fence.turn_id).with_for_update(key_share=True))
    known = scope.first(scope.select(calls.c.status, calls.c.epoch).where(calls.c.id == call.id))
    if turn is None or turn.status != TurnStatus.STOPPED or known is None:
        return False
    if (known.status, known.epoch) != (CallStatus.OUTCOME_UNKNOWN, fence.epoch):
        return False
    _write_result(scope, _LATE, fence, call, status, result)
    scope.changed("turn", fence.turn_id)
    return True


def _write_result(
    scope: Scope, statement: Update, fence: TurnFence, call: Call, status: CallStatus, result: ToolResult
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
    """Store a long text once per cause; return its id, which the tool `read_back` takes."""
    original_id = scope.ids.new("orig")
    if scope.insert_new(originals, id=original_id, cause=cause, text=text, created_at=scope.now):
        return original_id
    return str(scope.scalar(scope.select(originals.c.id).where(originals.c.cause == cause)))


def record_facts(scope: Scope, turn_id: str, n: int, fact_ids: Sequence[str]) -> None:
    """Note that a step relies on these facts of the memory."""
    mine = scope.select(steps.c.facts).where(steps.c.turn_id == turn_id, steps.c.n == n)
    row = scope.first(mine)
    if row is not None:
        known = list(dict.fromkeys([*row.facts, *fact_ids]))
        scope.change(scope.update(steps).where(steps.c.turn_id == turn_id, steps.c.n == n).values(facts=known))


def forget_results(scope: Scope, call_ids: Sequence[str], content: Mapping[str, Any]) -> int:
    """Replace the results of these calls with `content`, so that no later step reads them; return how many."""
    texts = scope.update(originals).where(originals.c.cause.in_(list(call_ids)))
    scope.change(texts.values(text=json.dumps(content)))
    return scope.change(scope.update(calls).where(calls.c.id.in_(list(call_ids))).values(result=dict(content)))


def end_open_calls(scope: Scope, turn_id: str) -> None:
    """End the unfinished calls of a turn that was ended from outside, so that none stays `started` for ever."""
    for was, now in (
        (CallStatus.PROPOSED, CallStatus.CANCELLED),
        (CallStatus.STARTED, CallStatus.OUTCOME_UNKNOWN),
    ):
        scope.change(
            scope.update(calls)
            .where(calls.c.turn_id == turn_id, calls.c.status == was)
            .values(status=now, finished_at=scope.now)
        )
