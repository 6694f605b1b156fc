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
from runtime.statuses import FINISHED_STEP_STATUSES, CardKind, ChecklistStatus
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


def count_progress(scope: Scope, task_ids: Sequence[str]) -> dict[str, dict[str, int]]:
    """Count the steps of each task that has a checklist: `done`, of which a stale one is none, and `of` all."""
    finished = sa.and_(checklist_steps.c.status.in_(FINISHED_STEP_STATUSES), ~checklist_steps.c.stale)
    query = scope.select(
        checklist_steps.c.task_id,
        sa.func.count().label("all_steps"),
        sa.func.count().filter(finished).label("finished"),
    ).where(checklist_steps.c.task_id.in_(task_ids))
    rows = scope.rows(query.group_by(checklist_steps.c.task_id)) if task_ids else []
    return {row.task_id: {"done": row.finished, "of": row.all_steps} for row in rows}


def read_plan_number(scope: Scope, task_id: str) -> int:
    """Return the number of the current plan; 0 where there is none."""
    return max((step.plan for step in list_checklist(scope, task_id)), default=0)


def write_checklist(scope: Scope, task_id: str, new: Sequence[NewChecklistStep]) -> dict[int, int]:
    """Write a plan, or replace the present one; steps that are done stay as they are, at the front.

    `depends_on` counts the given steps from 1. A given step with the title of a done one is that one. Returns the
    number that each given step, by its place, has in the checklist. Raises InvalidError for a step that depends on
    itself, on a later one or on none.
    """
    before = list_checklist(scope, task_id)
    kept = [step for step in before if step.status == ChecklistStatus.DONE]
    if not new or len(new) + len(kept) > MOST_CHECKLIST_STEPS:
        raise InvalidError(
            f"a checklist has 1 to {MOST_CHECKLIST_STEPS} steps; this one would have {len(new) + len(kept)}"
        )
    _check_dependencies(new)
    done = {old.title: old.n for old in kept}
    first = max((step.n for step in kept), default=0) + 1
    numbers = {place: done[step.title] for place, step in enumerate(new, start=1) if step.title in done}
    fresh = [place for place, step in enumerate(new, start=1) if step.title not in done]
    numbers |= {place: n for n, place in enumerate(fresh, start=first)}
    scope.change(
        scope.delete(checklist_steps).where(
            checklist_steps.c.task_id == task_id, checklist_steps.c.n.not_in([step.n for step in kept])
        )
    )
    plan = max((step.plan for step in before), default=0) + 1
    for place in fresh:
        step = new[place - 1]
        scope.insert(
            checklist_steps,
            task_id=task_id,
            n=numbers[place],
            plan=plan,
            title=step.title,
            acceptance=step.acceptance,
            status=ChecklistStatus.TODO,
            stale=False,
            depends_on=[numbers[one] for one in step.depends_on],
            evidence=[],
            checkpoint=step.checkpoint or step.mandatory,
            mandatory=step.mandatory,
            updated_at=scope.now,
        )
    scope.changed("task", task_id)
    return dict(sorted(numbers.items()))


def _check_dependencies(new: Sequence[NewChecklistStep]) -> None:
    for place, step in enumerate(new, start=1):
        for one in step.depends_on:
            if not 0 < one < place:
                raise InvalidError(
                    f"step {place} of the plan depends on {one}; name earlier steps of this list, counted from 1"
                )


def mark_checklist_step(
    scope: Scope, task_id: str, n: int, status: ChecklistStatus, evidence: Sequence[Mapping[str, str]]
) -> None:
    """Set the status of one step and add `evidence` to what it has; the caller has checked that the evidence exists.

    A done step that is set back makes every done step that depends on it stale, until that is done again. Raises
    InvalidError for an unknown step, and for `done` without evidence.
    """
    steps = list_checklist(scope, task_id)
    known = next((step for step in steps if step.n == n), None)
    if known is None:
        raise InvalidError(f"the checklist has no step {n}")
    proof = [dict(item) for item in known.evidence]
    proof += [dict(item) for item in evidence if dict(item) not in proof]
    if status == ChecklistStatus.DONE and not proof:
        raise InvalidError(f"step {n} needs evidence to be done: name an object, order, message or card that shows it")
    scope.change(
        scope.update(checklist_steps)
        .where(checklist_steps.c.task_id == task_id, checklist_steps.c.n == n)
        .values(status=status, evidence=proof, stale=False, updated_at=scope.now)
    )
    if known.status == ChecklistStatus.DONE and status != ChecklistStatus.DONE:
        behind = _list_dependents(steps, n)
        scope.change(
            scope.update(checklist_steps)
            .where(
                checklist_steps.c.task_id == task_id,
                checklist_steps.c.n.in_(behind),
                checklist_steps.c.status == ChecklistStatus.DONE,
            )
            .values(stale=True)
        )
    scope.changed("task", task_id)


def _list_dependents(steps: Sequence[ChecklistStep], n: int) -> list[int]:
    """List the steps that depend on step `n`, directly or through others."""
    found = {n}
    for step in sorted(steps, key=lambda one: one.n):
        # A step depends on earlier ones only, so one pass in their order finds all.
        if found & set(step.depends_on):
            found.add(step.n)
    return sorted(found - {n})


def check_order(scope: Scope, task_id: str, marked: Sequence[int]) -> None:
    """Raise InvalidError where one of these steps is done and a step that it depends on is not."""
    steps = {step.n: step for step in list_checklist(scope, task_id)}
    for n in marked:
        needed = [steps[one] for one in steps[n].depends_on if one in steps]
        left = [str(one.n) for one in needed if one.status not in FINISHED_STEP_STATUSES]
        if left:
            raise InvalidError(f"step {n} depends on {', '.join(left)}, which must be done before it")


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
