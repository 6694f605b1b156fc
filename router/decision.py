"""Route decisions: where a message goes and why, the rules that need no model, and the stored decision.

A decision is stored once, before it is acted on.
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
    """A task that may fit the message; `score` is between 0 and 1."""

    task_id: str
    score: float


@dataclass(frozen=True)
class RouteDecision:
    """Where a message goes, and why.

    `task_id` is set only for `existing`. The task may no longer exist; delivery checks that and explains it.
    `object_ids` are the works that delivery links to the task.
    """

    level: RouteLevel
    outcome: RouteOutcome
    task_id: str | None = None
    reasons: tuple[str, ...] = ()
    candidates: tuple[RouteCandidate, ...] = ()
    object_ids: tuple[str, ...] = ()


@dataclass(frozen=True)
class TaskOfObject:
    """A task that works with an object; `living`: it still takes messages, `made_it`: it made the object."""

    id: str
    living: bool
    made_it: bool = False


@dataclass(frozen=True)
class RouteTarget:
    """What the message itself points at. `object_tasks` are oldest first, and None for a deleted object."""

    task_id: str | None = None
    card_task_id: str | None = None
    object_id: str | None = None
    object_tasks: Sequence[TaskOfObject] | None = ()


def decide_without_model(target: RouteTarget) -> RouteDecision | None:
    """Decide by what the message points at; None when that decides nothing."""
    if target.task_id is not None:
        return RouteDecision("explicit", "existing", target.task_id, ("it was written in the task's own panel",))
    if target.card_task_id is not None:
        return RouteDecision("explicit", "existing", target.card_task_id, ("it answers a card of the task",))
    if target.object_id is not None:
        return _decide_by_object(target.object_id, target.object_tasks)
    return None


def _decide_by_object(object_id: str, tasks: Sequence[TaskOfObject] | None) -> RouteDecision | None:
    if tasks is None:
        return RouteDecision("object", "existing", None, ("the object it is about is deleted",))
    if not tasks:
        return None
    # A task that has ended cannot take the message.
    living = [task for task in tasks if task.living]
    chosen = next((task for task in living if task.made_it), living[0] if living else tasks[0])
    return RouteDecision("object", "existing", chosen.id, ("it is about a work of the task",), object_ids=(object_id,))


def record_decision(scope: Scope, message_id: str, decision: RouteDecision, language: str) -> None:
    """Store the decision and the message's language, unless a decision is stored already."""
    added = scope.insert_new(
        routes,
        message_id=message_id,
        level=decision.level,
        outcome=decision.outcome,
        task_id=decision.task_id,
        reasons=list(decision.reasons),
        candidates=[asdict(one) for one in decision.candidates],
        object_ids=list(decision.object_ids),
        created_at=scope.now,
    )
    if added:
        scope.change(scope.update(messages).where(messages.c.id == message_id).values(language=language))
        scope.changed("message", message_id)


def find_decision(scope: Scope, message_id: str) -> RouteDecision | None:
    """Return the stored decision of a message, if there is one."""
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
    """Store where the message really went: to the person's choice, or to the task that was made for it."""
    decision = find_decision(scope, message_id)
    reasons = (*(decision.reasons if decision else ()), *([reason] if reason else []))
    scope.change(
        scope.update(routes)
        .where(routes.c.message_id == message_id)
        .values(outcome=outcome, task_id=task_id, reasons=list(reasons))
    )
