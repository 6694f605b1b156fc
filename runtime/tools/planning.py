"""Tools that keep the plan: brief and checklist."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from core.database import Scope
from core.errors import InvalidError, RefusedError
from core.tools import CallContext, Effect, ToolResult
from runtime import cards, checklist, messages, tasks
from runtime.checklist import ChecklistStep, NewStep
from runtime.sources import EvidenceCheck

Text = Annotated[str, Field(min_length=1, max_length=20_000)]
Line = Annotated[str, Field(min_length=1, max_length=500)]


class Arguments(BaseModel):
    """Base of the arguments of every core tool: what is not named is refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class SetBriefArguments(Arguments):
    brief: Text


def task_of(call: CallContext) -> str:
    if call.task_id is None:
        raise RefusedError("this tool works inside a task, and Main is none")
    return call.task_id


class SetBrief:
    """Store the direction of the work."""

    name = "set_brief"
    domain = "core"
    effect = Effect.WRITE
    repeatable = True
    description = "Store the direction of this work in a few lines: goal, audience, look, must and must not."
    arguments = SetBriefArguments

    def run(self, call: CallContext, arguments: SetBriefArguments) -> ToolResult:
        with call.transaction() as scope:
            tasks.set_fields(scope, task_of(call), brief=arguments.brief)
        return ToolResult({"brief": "stored"})


class NewStepArguments(Arguments):
    title: Line
    acceptance: Annotated[str, Field(max_length=2000)] = ""
    checkpoint: bool = False
    mandatory: bool = False
    depends_on: tuple[int, ...] = ()


class CreateChecklistArguments(Arguments):
    steps: Annotated[tuple[NewStepArguments, ...], Field(min_length=1, max_length=checklist.MOST_STEPS)]


class CreateChecklist:
    """Write the plan as steps that can be checked."""

    name = "create_checklist"
    domain = "core"
    effect = Effect.WRITE
    repeatable = True
    description = (
        "Write the plan as steps, each with what must be true for it to be done. `checkpoint` asks the person before "
        "the work goes on past the step; `mandatory` does so even where they let the plan run. A second call "
        "puts a new plan in the place of what is not done."
    )
    arguments = CreateChecklistArguments

    def run(self, call: CallContext, arguments: CreateChecklistArguments) -> ToolResult:
        new = [NewStep(s.title, s.acceptance, s.checkpoint, s.depends_on, s.mandatory) for s in arguments.steps]
        with call.transaction() as scope:
            steps = checklist.create(scope, task_of(call), new)
            _drop_questions(scope, task_of(call), steps)
        return ToolResult({"steps": [{"n": step.n, "title": step.title, "status": step.status} for step in steps]})


def _drop_questions(scope: Scope, task_id: str, steps: Sequence[ChecklistStep]) -> None:
    """A checkpoint's card goes with its step: an answer to it would say nothing about the new plan."""
    for card in cards.every_open(scope, task_id):
        asks_for_step = card.kind == "checkpoint" and "n" in card.subject
        if asks_for_step and not any(checklist.is_subject(step, card.subject) for step in steps):
            cards.close(scope, card, "superseded")


class Evidence(Arguments):
    kind: Literal["object", "order", "message", "card"]
    id: Line


class ChecklistChange(Arguments):
    n: int
    status: Literal["todo", "doing", "waiting", "done", "blocked"]
    evidence: tuple[Evidence, ...] = ()


class UpdateChecklistArguments(Arguments):
    changes: Annotated[tuple[ChecklistChange, ...], Field(min_length=1, max_length=checklist.MOST_STEPS)]


class UpdateChecklist:
    """Move steps of the plan; `done` needs evidence that exists."""

    name = "update_checklist"
    domain = "core"
    effect = Effect.WRITE
    repeatable = True
    description = (
        "Move steps of the checklist. `done` needs evidence: the objects, orders, messages or cards that show it."
    )
    arguments = UpdateChecklistArguments

    def __init__(self, checks: Mapping[str, EvidenceCheck]) -> None:
        """`checks` answers for `object` and `order`; messages and cards are the runtime's own."""
        self._checks: Mapping[str, EvidenceCheck] = {"message": _has_message, "card": _has_answer, **checks}

    def run(self, call: CallContext, arguments: UpdateChecklistArguments) -> ToolResult:
        task_id = task_of(call)
        with call.transaction() as scope:
            before = {s.n: s for s in checklist.of_task(scope, task_id)}
            for change in arguments.changes:
                for item in change.evidence:
                    if not self._checks[item.kind](scope, item.id):
                        raise InvalidError(f"there is no {item.kind} {item.id} that could show step {change.n}")
                checklist.mark(scope, task_id, change.n, change.status, [e.model_dump() for e in change.evidence])
            steps = checklist.of_task(scope, task_id)
        # Done again on the evidence of before is no news, so that a step cannot be turned to and fro for ever.
        newly = [s.n for s in steps if s.status == "done" and _is_news(before[s.n], s)]
        return ToolResult({"steps": [{"n": s.n, "status": s.status} for s in steps], "newly_done": newly})


def _is_news(before: ChecklistStep, now: ChecklistStep) -> bool:
    return before.status != "done" and before.evidence != now.evidence


def _has_message(scope: Scope, thing_id: str) -> bool:
    return messages.exists(scope, thing_id)


def _has_answer(scope: Scope, thing_id: str) -> bool:
    return cards.was_answered(scope, thing_id)
