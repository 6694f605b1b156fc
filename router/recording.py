"""The stored decision of a message: written once, before anything is done about it."""

from __future__ import annotations

from dataclasses import asdict

from core.database import Scope
from router.decided import Candidate, Decided
from runtime.tables import messages, routes


def record(scope: Scope, message_id: str, decided: Decided, language: str) -> None:
    """Keep the decision and the message's language; a decision that is there already stays."""
    added = scope.insert_new(
        routes,
        message_id=message_id,
        level=decided.level,
        outcome=decided.outcome,
        task_id=decided.task_id,
        reasons=list(decided.reasons),
        candidates=[asdict(one) for one in decided.candidates],
        object_ids=list(decided.object_ids),
        created_at=scope.now,
    )
    if added:
        scope.change(scope.update(messages).where(messages.c.id == message_id).values(language=language))
        scope.changed("message", message_id)


def stored(scope: Scope, message_id: str) -> Decided | None:
    """The decision of a message, where there is one."""
    row = scope.first(scope.select(routes).where(routes.c.message_id == message_id))
    if row is None:
        return None
    return Decided(
        level=row.level,
        outcome=row.outcome,
        task_id=row.task_id,
        reasons=tuple(row.reasons),
        candidates=tuple(Candidate(**one) for one in row.candidates),
        object_ids=tuple(row.object_ids),
    )


def revise(scope: Scope, message_id: str, outcome: str, task_id: str, reason: str) -> None:
    """Note where the message really went: by the person's choice, or the task that was made for it."""
    decided = stored(scope, message_id)
    reasons = (*(decided.reasons if decided else ()), *([reason] if reason else []))
    scope.change(
        scope.update(routes)
        .where(routes.c.message_id == message_id)
        .values(outcome=outcome, task_id=task_id, reasons=list(reasons))
    )
