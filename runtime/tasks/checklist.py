"""The checklist of a task: its steps, what must be true for each to be done, and the evidence for those that are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from core.database import Scope
from core.errors import InvalidError
from core.sql import statements
from runtime.statuses import CardKind, ChecklistStatus
from runtime.tables import cards, checklist_steps

MOST_CHECKLIST_STEPS = 60
_OF_TASK = (
    statements.select(checklist_steps)
    .where(checklist_steps.c.task_id == sa.bindparam("task"))
    .order_by(checklist_steps.c.n)
)


@dataclass(frozen=True)
class ChecklistStep:
    """One step of a plan. `evidence` is a list of `{kind, id}`; a step without any cannot be `done`.

    `plan` numbers the task's plans: step 2 of the second plan is another step than step 2 of the first. `checkpoint`
    asks a person before the work goes on past the step; `mandatory` does so at every level of autonomy.
    """

    task_id: str
    n: int
    plan: int
    title: str
    acceptance: str
    status: ChecklistStatus
    stale: bool
    depends_on: tuple[int, ...]
    evidence: tuple[Mapping[str, str], ...]
    checkpoint: bool
    mandatory: bool
    updated_at: datetime


@dataclass(frozen=True)
class NewChecklistStep:
    title: str
    acceptance: str
    checkpoint: bool
    depends_on: tuple[int, ...]
    mandatory: bool = False


def _step_from_row(row: sa.Row[Any]) -> ChecklistStep:
    fields = dict(row._mapping)
    fields.pop("workspace_id")
    fields["status"] = ChecklistStatus(fields["status"])
    fields["depends_on"] = tuple(fields["depends_on"])
    fields["evidence"] = tuple(fields["evidence"])
    return ChecklistStep(**fields)


def list_checklist(scope: Scope, task_id: str) -> list[ChecklistStep]:
    return [_step_from_row(row) for row in scope.rows(_OF_TASK, task=task_id)]


def read_plan_number(scope: Scope, task_id: str) -> int:
    """Return the number of the current plan; 0 where there is none."""
    return max((step.plan for step in list_checklist(scope, task_id)), default=0)


def write_checklist(scope: Scope, task_id: str, new: Sequence[NewChecklistStep]) -> list[ChecklistStep]:
    """Write a plan, or replace the present one; steps that are done stay as they are, at the front."""
    before = list_checklist(scope, task_id)
    kept = [step for step in before if step.status == ChecklistStatus.DONE]
    if not new or len(new) + len(kept) > MOST_CHECKLIST_STEPS:
        raise InvalidError(
            f"a checklist has 1 to {MOST_CHECKLIST_STEPS} steps; this one would have {len(new) + len(kept)}"
        )
    fresh = [step for step in new if step.title not in {old.title for old in kept}]
    scope.change(
        scope.delete(checklist_steps).where(
            checklist_steps.c.task_id == task_id, checklist_steps.c.n.not_in([step.n for step in kept])
        )
    )
    first = max((step.n for step in kept), default=0) + 1
    plan = max((step.plan for step in before), default=0) + 1
    for n, step in enumerate(fresh, start=first):
        scope.insert(
            checklist_steps,
            task_id=task_id,
            n=n,
            plan=plan,
            title=step.title,
            acceptance=step.acceptance,
            status=ChecklistStatus.TODO,
            stale=False,
            depends_on=[d for d in step.depends_on if 0 < d < n],
            evidence=[],
            checkpoint=step.checkpoint or step.mandatory,
            mandatory=step.mandatory,
            updated_at=scope.now,
        )
    scope.changed("task", task_id)
    return list_checklist(scope, task_id)


def mark_checklist_step(
    scope: Scope, task_id: str, n: int, status: ChecklistStatus, evidence: Sequence[Mapping[str, str]]
) -> None:
    """Set the status of one step and add `evidence` to what it has; the caller has checked that the evidence exists.

    Raises InvalidError for an unknown step, and for `done` without evidence.
    """
    known = next((step for step in list_checklist(scope, task_id) if step.n == n), None)
    if known is None:
        raise InvalidError(f"the checklist has no step {n}")
    proof = [dict(item) for item in known.evidence]
    proof += [dict(item) for item in evidence if dict(item) not in proof]
    if status == ChecklistStatus.DONE and not proof:
        raise InvalidError(f"step {n} needs evidence to be done: name an object, order, message or card that shows it")
    scope.change(
        scope.update(checklist_steps)
        .where(checklist_steps.c.task_id == task_id, checklist_steps.c.n == n)
        .values(status=status, evidence=proof, updated_at=scope.now)
    )
    scope.changed("task", task_id)


def make_checkpoint_subject(step: ChecklistStep) -> dict[str, int]:
    """Return the subject of a checkpoint card: which step of which plan it is for."""
    return {"n": step.n, "plan": step.plan}


def is_checkpoint_subject(step: ChecklistStep, subject: Mapping[str, Any]) -> bool:
    """Tell whether a card is for this step, and not for one of an earlier plan with the same number."""
    return subject.get("n") == step.n and subject.get("plan") == step.plan


def list_approved_checkpoints(scope: Scope, task_id: str) -> frozenset[int]:
    """Return the numbers of the current plan's steps whose checkpoint a person has let pass."""
    query = scope.select(cards.c.subject).where(
        cards.c.task_id == task_id, cards.c.kind == CardKind.CHECKPOINT, cards.c.answer_option == "continue"
    )
    passed = [row.subject for row in scope.rows(query)]
    if not passed:
        return frozenset()
    return frozenset(
        step.n
        for step in list_checklist(scope, task_id)
        if any(is_checkpoint_subject(step, subject) for subject in passed)
    )
