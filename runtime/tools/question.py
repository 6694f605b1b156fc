"""Tool that asks a person with a card."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from core.database import Scope
from core.errors import InvalidError
from core.tools import CallContext, Effect, ToolResult
from runtime.cards import cards
from runtime.statuses import CardKind
from runtime.tasks import checklist
from runtime.tools.plan import CoreToolArguments, ShortLine, task_id_of


class AskUserOption(CoreToolArguments):
    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,60}$")]
    label: ShortLine


class AskUserArguments(CoreToolArguments):
    kind: Literal["checkpoint", "choice", "clarify"]
    title: ShortLine
    body: Annotated[str, Field(max_length=4000)] = ""
    options: Annotated[tuple[AskUserOption, ...], Field(max_length=12)] = ()
    step: Annotated[int | None, Field(description="the checklist step whose checkpoint this is")] = None


class AskUser:
    """Put a question on a card; the task goes on when a person has answered it."""

    name = "ask_user"
    domain = "core"
    effect = Effect.WRITE
    held_at_checkpoint = False
    repeatable = True
    description = (
        "Ask the person on a card: `checkpoint` (continue or adjust), `choice` (one of your options) or `clarify`. "
        "It can authorise nothing that costs money or deletes."
    )
    arguments = AskUserArguments

    def run(self, call: CallContext, arguments: AskUserArguments) -> ToolResult:
        with call.transaction("card.asked") as scope:
            card = cards.open_card(
                scope,
                kind=CardKind(arguments.kind),
                title=arguments.title,
                body=arguments.body,
                options=_options(arguments),
                cause=call.call_id,
                task_id=task_id_of(call),
                turn_id=call.turn_id,
                subject=_subject(scope, task_id_of(call), arguments.step),
            )
        return ToolResult({"card_id": card.id, "state": card.state})


def _subject(scope: Scope, task_id: str, n: int | None) -> Mapping[str, Any]:
    if n is None:
        return {}
    step = next((step for step in checklist.list_checklist(scope, task_id) if step.n == n), None)
    if step is None:
        raise InvalidError(f"the checklist has no step {n}; leave `step` out, or write the checklist first")
    return checklist.make_checkpoint_subject(step)


def _options(arguments: AskUserArguments) -> list[Mapping[str, Any]]:
    if arguments.kind == "checkpoint":
        return [dict(option) for option in cards.CHECKPOINT_OPTIONS]
    if len(arguments.options) < 1:
        raise InvalidError(f"a {arguments.kind} card needs options to pick from")
    return [{"id": option.id, "label": option.label} for option in arguments.options]
