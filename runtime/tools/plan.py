"""Tools that keep the plan and end the work: brief, checklist and finish."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from core.database import Scope
from core.errors import InvalidError, RefusedError
from core.tools import CallContext, Effect, ToolResult
from runtime.cards import cards
from runtime.inbox import messages
from runtime.ports import EvidenceCheck
from runtime.statuses import FINISHED_STEP_STATUSES, CardKind, ChecklistStatus
from runtime.tasks import checklist, tasks
from runtime.tasks.checklist import ChecklistStep, NewChecklistStep

LongText = Annotated[str, Field(min_length=1, max_length=20_000)]
ShortLine = Annotated[str, Field(min_length=1, max_length=500)]


class CoreToolArguments(BaseModel):
    """Base of the arguments of every core tool; unknown fields are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class SetBriefArguments(CoreToolArguments):
    brief: LongText


def task_id_of(call: CallContext) -> str:
    """Return the id of the call's task. Raises RefusedError in Main, which has none."""
    if call.task_id is None:
        raise RefusedError("this tool works inside a task, and Main is none")
    return call.task_id


class SetBrief:
    """Store the direction of the work."""

    name = "set_brief"
    domain = "core"
    effect = Effect.WRITE
    held_at_checkpoint = False
    repeatable = True
    description = "Store the direction of this work in a few lines: goal, audience, look, must and must not."
    arguments = SetBriefArguments

    def run(self, call: CallContext, arguments: SetBriefArguments) -> ToolResult:
        with call.transaction() as scope:
            tasks.set_task_fields(scope, task_id_of(call), brief=arguments.brief)
        return ToolResult({"brief": "stored"})


class NewStepArguments(CoreToolArguments):
    title: ShortLine
    acceptance: Annotated[str, Field(max_length=2000)] = ""
    checkpoint: bool = False
    mandatory: bool = False
    depends_on: Annotated[
        tuple[int, ...], Field(description="earlier steps of this list, counted from 1, that must be done before")
    ] = ()


class CreateChecklistArguments(CoreToolArguments):
    steps: Annotated[tuple[NewStepArguments, ...], Field(min_length=1, max_length=checklist.MOST_CHECKLIST_STEPS)]


class CreateChecklist:
    """Write the plan as steps that can be checked."""

    name = "create_checklist"
    domain = "core"
    effect = Effect.WRITE
    held_at_checkpoint = False
    repeatable = True
    description = (
        "Write the plan as steps, each with what must be true for it to be done. `checkpoint` asks the person before "
        "the work goes on past the step; `mandatory` does so even where they let the plan run. A second call "
        "puts a new plan in the place of what is not done; `numbers` tells which number each given step has."
    )
    arguments = CreateChecklistArguments

    def run(self, call: CallContext, arguments: CreateChecklistArguments) -> ToolResult:
        new = [
            NewChecklistStep(s.title, s.acceptance, s.checkpoint, s.depends_on, s.mandatory) for s in arguments.steps
        ]
        with call.transaction() as scope:
            numbers = checklist.write_checklist(scope, task_id_of(call), new)
            steps = checklist.list_checklist(scope, task_id_of(call))
            _drop_questions(scope, task_id_of(call), steps)
        listed = [{"n": step.n, "title": step.title, "status": step.status} for step in steps]
        return ToolResult({"steps": listed, "numbers": {str(place): n for place, n in numbers.items()}})


def _drop_questions(scope: Scope, task_id: str, steps: Sequence[ChecklistStep]) -> None:
    """Supersede the checkpoint cards of steps that the new plan no longer has: an answer would not be about it."""
    for card in cards.list_all_open_cards(scope, task_id):
        asks_for_step = card.kind == CardKind.CHECKPOINT and "n" in card.subject
        if asks_for_step and not any(checklist.is_checkpoint_subject(step, card.subject) for step in steps):
            cards.supersede_card(scope, card.id)


class StepEvidence(CoreToolArguments):
    kind: Literal["object", "order", "message", "card"]
    id: ShortLine


class ChecklistChange(CoreToolArguments):
    n: int
    status: Literal["todo", "doing", "waiting", "done", "blocked"]
    evidence: tuple[StepEvidence, ...] = ()


class UpdateChecklistArguments(CoreToolArguments):
    changes: Annotated[tuple[ChecklistChange, ...], Field(min_length=1, max_length=checklist.MOST_CHECKLIST_STEPS)]


class UpdateChecklist:
    """Set the status of steps; `done` needs evidence of the task, and the steps before it."""

    name = "update_checklist"
    domain = "core"
    effect = Effect.WRITE
    held_at_checkpoint = False
    repeatable = True
    description = (
        "Move steps of the checklist. `done` needs evidence, the objects, orders, messages or cards of this task that "
        "show it, and all that the step depends on. A step set back makes what was done after it stale."
    )
    arguments = UpdateChecklistArguments

    def __init__(self, checks: Mapping[str, EvidenceCheck]) -> None:
        """Take `checks` by kind of evidence, for `object` and `order`; those for messages and cards are here."""
        self._checks: Mapping[str, EvidenceCheck] = {
            "message": _is_message_of_task,
            "card": _is_answer_of_task,
            **checks,
        }

    def run(self, call: CallContext, arguments: UpdateChecklistArguments) -> ToolResult:
        task_id = task_id_of(call)
        with call.transaction() as scope:
            before = {s.n: s for s in checklist.list_checklist(scope, task_id)}
            for change in arguments.changes:
                for item in change.evidence:
                    if not self._checks[item.kind](scope, item.id, task_id):
                        reason = f"there is no {item.kind} {item.id} of this task that could show step {change.n}"
                        raise InvalidError(reason)
                checklist.mark_checklist_step(
                    scope, task_id, change.n, ChecklistStatus(change.status), [e.model_dump() for e in change.evidence]
                )
            checklist.check_order(scope, task_id, [c.n for c in arguments.changes if c.status == "done"])
            steps = checklist.list_checklist(scope, task_id)
        # Done again with the same evidence is no progress, so that a task cannot go on by toggling a step for ever.
        newly = [s.n for s in steps if s.status == ChecklistStatus.DONE and _is_progress(before[s.n], s)]
        shown = [{"n": s.n, "status": s.status, "stale": s.stale} for s in steps]
        return ToolResult({"steps": shown, "newly_done": newly})


def _is_progress(before: ChecklistStep, now: ChecklistStep) -> bool:
    return before.status != ChecklistStatus.DONE and before.evidence != now.evidence


def _is_message_of_task(scope: Scope, thing_id: str, task_id: str) -> bool:
    return any(message.task_id == task_id for message in messages.list_messages_by_ids(scope, [thing_id]))


def _is_answer_of_task(scope: Scope, thing_id: str, task_id: str) -> bool:
    return cards.is_card_answered(scope, thing_id, task_id)


class FinishArguments(CoreToolArguments):
    summary: Annotated[str, Field(min_length=1, max_length=6000)]


class Finish:
    """Say that the goal is reached; the checklist must agree."""

    name = "finish"
    domain = "core"
    effect = Effect.WRITE
    held_at_checkpoint = False
    repeatable = True
    description = "End the work with a short summary for the person, once every step of the checklist is done."
    arguments = FinishArguments

    def run(self, call: CallContext, arguments: FinishArguments) -> ToolResult:
        with call.reading() as scope:
            steps = checklist.list_checklist(scope, task_id_of(call))
        left = [str(s.n) for s in steps if s.status not in FINISHED_STEP_STATUSES]
        if left:
            raise RefusedError(f"steps {', '.join(left)} of the checklist are not done; mark them with evidence first")
        stale = [str(s.n) for s in steps if s.stale]
        if stale:
            raise RefusedError(
                f"steps {', '.join(stale)} are stale: a step they depend on was done again; mark them done again"
            )
        return ToolResult({"summary": arguments.summary})
