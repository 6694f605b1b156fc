"""The tool that asks a person."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from core.database import Scope
from core.errors import InvalidError
from core.tools import CallContext, Effect, ToolResult
from runtime import cards, checklist
from runtime.tools.planning import Arguments, Line, task_of


class Option(Arguments):
    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,60}$")]
    label: Line


class AskUserArguments(Arguments):
    kind: Literal["checkpoint", "choice", "clarify"]
    title: Line
    body: Annotated[str, Field(max_length=4000)] = ""
    options: Annotated[tuple[Option, ...], Field(max_length=12)] = ()
    step: Annotated[int | None, Field(description="the checklist step whose checkpoint this is")] = None


class AskUser:
    """Put a question on a card; the task goes on when a person has answered it."""

    name = "ask_user"
    domain = "core"
    effect = Effect.WRITE
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
                kind=arguments.kind,
                title=arguments.title,
                body=arguments.body,
                options=_options(arguments),
                cause=call.call_id,
                task_id=task_of(call),
                turn_id=call.turn_id,
                subject=_subject(scope, task_of(call), arguments.step),
            )
        return ToolResult({"card_id": card.id, "state": card.state})


def _subject(scope: Scope, task_id: str, n: int | None) -> Mapping[str, Any]:
    if n is None:
        return {}
    step = next((step for step in checklist.of_task(scope, task_id) if step.n == n), None)
    if step is None:
        raise InvalidError(f"the checklist has no step {n}; leave `step` out, or write the checklist first")
    return checklist.checkpoint_subject(step)


def _options(arguments: AskUserArguments) -> list[Mapping[str, Any]]:
    if arguments.kind == "checkpoint":
        return [dict(option) for option in cards.CHECKPOINT_OPTIONS]
    if len(arguments.options) < 1:
        raise InvalidError(f"a {arguments.kind} card needs options to pick from")
    return [{"id": option.id, "label": option.label} for option in arguments.options]
