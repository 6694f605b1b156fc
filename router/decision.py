"""Where a message goes and why: the decision, the rules that need no model, and the stored decision.

A decision is stored once, before anything is done about it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from core.database import Scope
from runtime.tables import messages, routes

RouteLevel = Literal["explicit", "object", "semantic"]
RouteOutcome = Literal["main", "light", "existing", "new", "ask"]


@dataclass(frozen=True)
class RouteCandidate:
    """A task that came into question; `score` is between 0 and 1."""

    task_id: str
    score: float


@dataclass(frozen=True)
class RouteDecision:
    """`task_id` is set for `existing` alone; it may name a task that is gone, which delivery finds out and says.

    `object_ids` are the works that the new or found task is handed.
    """

    level: RouteLevel
    outcome: RouteOutcome
    task_id: str | None = None
    reasons: tuple[str, ...] = ()
    candidates: tuple[RouteCandidate, ...] = ()
    object_ids: tuple[str, ...] = ()


@dataclass(frozen=True)
class TaskOfObject:
    """A task that works with an object; `living` tells that it may still be given work."""

    id: str
    living: bool


@dataclass(frozen=True)
class RouteTarget:
    """What the message itself points at. `object_tasks` is None for a deleted object, oldest task first otherwise."""

    task_id: str | None = None
    card_task_id: str | None = None
    object_id: str | None = None
    object_tasks: Sequence[TaskOfObject] | None = ()


def decide_without_model(target: RouteTarget) -> RouteDecision | None:
    """Where the message goes by what it points at; None when that decides nothing."""
    if target.task_id is not None:
        return RouteDecision("explicit", "existing", target.task_id, ("it was written in the task's own panel",))
    if target.card_task_id is not None:
        return RouteDecision("explicit", "existing", target.card_task_id, ("it answers a card of the task",))
    if target.object_id is not None:
        return _by_object(target.object_id, target.object_tasks)
    return None


def _by_object(object_id: str, tasks: Sequence[TaskOfObject] | None) -> RouteDecision | None:
    if tasks is None:
        return RouteDecision("object", "existing", None, ("the object it is about is deleted",))
    if not tasks:
        return None
    # The task that made a work is the oldest one that knows it; an ended one cannot take the message.
    chosen = next((task for task in tasks if task.living), tasks[0])
    return RouteDecision("object", "existing", chosen.id, ("it is about a work of the task",), object_ids=(object_id,))


def record_decision(scope: Scope, message_id: str, decided: RouteDecision, language: str) -> None:
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


def find_decision(scope: Scope, message_id: str) -> RouteDecision | None:
    """The decision of a message, where there is one."""
    row = scope.first(scope.select(routes).where(routes.c.message_id == message_id))
    if row is None:
        return None
    return RouteDecision(
        level=row.level,
        outcome=row.outcome,
        task_id=row.task_id,
        reasons=tuple(row.reasons),
        candidates=tuple(RouteCandidate(**one) for one in row.candidates),
        object_ids=tuple(row.object_ids),
    )


def revise_decision(scope: Scope, message_id: str, outcome: str, task_id: str, reason: str) -> None:
    """Note where the message really went: by the person's choice, or the task that was made for it."""
    decided = find_decision(scope, message_id)
    reasons = (*(decided.reasons if decided else ()), *([reason] if reason else []))
    scope.change(
        scope.update(routes)
        .where(routes.c.message_id == message_id)
        .values(outcome=outcome, task_id=task_id, reasons=list(reasons))
    )
