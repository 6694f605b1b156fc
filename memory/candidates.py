"""Candidates: items of the model's verdict that wait for judgement."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from core.database import Scope
from core.errors import NotFoundError
from memory.tables import candidates
from memory.verdict import Checked

_MOST_PENDING = 100


def store_candidates(scope: Scope, person_id: str, found: Sequence[Checked]) -> None:
    """Store the items of a verdict until they are judged. A malformed item is refused here, without its words."""
    for one in found:
        scope.insert(
            candidates,
            id=scope.ids.new("cand"),
            person_id=person_id,
            body=None if one.wrong else one.body,
            evidence=list(one.evidence),
            about=one.about,
            state="refused" if one.wrong else "pending",
            action="",
            reason=one.wrong,
            created_at=scope.now,
            judged_at=scope.now if one.wrong else None,
        )


def pending_candidates(scope: Scope) -> list[str]:
    """Return the candidates that are not judged yet, oldest first."""
    query = scope.select(candidates.c.id).where(candidates.c.state == "pending")
    rows = scope.rows(query.order_by(candidates.c.created_at, candidates.c.id).limit(_MOST_PENDING))
    return [row.id for row in rows]


def sources_of_waiting(scope: Scope, before: datetime) -> list[str]:
    """Return the messages of the candidate that has waited longest, if it was stored before `before`.

    A candidate that names no message gives its own id instead.
    """
    query = scope.select(candidates.c.id, candidates.c.evidence).where(
        candidates.c.state == "pending", candidates.c.created_at < before
    )
    row = scope.first(query.order_by(candidates.c.created_at).limit(1))
    return [] if row is None else list(row.evidence) or [row.id]


def give_up_candidates(scope: Scope, before: datetime) -> int:
    """Refuse the candidates stored before `before` that are still not judged, and clear their words."""
    said = {"state": "refused", "body": None, "reason": "it could not be judged", "judged_at": scope.now}
    late = scope.update(candidates).where(candidates.c.state == "pending", candidates.c.created_at < before)
    return scope.change(late.values(**said))


def get_candidate(scope: Scope, candidate_id: str) -> sa.Row[Any]:
    """Return the candidate; raises NotFoundError."""
    row = scope.first(scope.select(candidates).where(candidates.c.id == candidate_id))
    if row is None:
        raise NotFoundError(f"no candidate {candidate_id} in this workspace")
    return row


def lock_candidate(scope: Scope, candidate_id: str) -> sa.Row[Any]:
    """Return the candidate, locked until the transaction ends."""
    scope.first(scope.select(candidates.c.id).where(candidates.c.id == candidate_id).with_for_update())
    return get_candidate(scope, candidate_id)


def record_judgement(
    scope: Scope,
    candidate_id: str,
    state: str,
    action: str,
    *,
    fact_id: str | None = None,
    n: int | None = None,
    reason: str = "",
    body: Any = None,
) -> str:
    """Store the judgement of a candidate and return it. Its words are cleared: what was remembered is in the fact."""
    values = {"state": state, "action": action, "fact_id": fact_id, "n": n, "reason": reason, "body": body}
    mine = scope.update(candidates).where(candidates.c.id == candidate_id)
    scope.change(mine.values(**values, judged_at=scope.now))
    return f"{state} {action or reason}"


def clear_candidate_words(scope: Scope, fact_ids: Sequence[str], message_ids: Sequence[str]) -> int:
    """Clear the words of every candidate about something forgotten, judged or not."""
    gone = set(message_ids)
    waiting = scope.rows(scope.select(candidates).where(candidates.c.body.is_not(None)))
    mine = [row.id for row in waiting if row.fact_id in fact_ids or row.about in fact_ids or gone & set(row.evidence)]
    if not mine:
        return 0
    said = {"state": "refused", "body": None, "reason": "its source was forgotten", "judged_at": scope.now}
    return scope.change(scope.update(candidates).where(candidates.c.id.in_(mine)).values(**said))
