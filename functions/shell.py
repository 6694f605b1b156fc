"""Shell around the functions: parse their events, and translate our errors into the engine's, here only."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import inngest
from pydantic import ValidationError

from core.errors import BusyError, LoopwrightError, LostError
from core.events import AgentEvent, RunFailed, RunFinished

StepResult = TypeVar("StepResult")
ParsedEvent = TypeVar("ParsedEvent", bound=AgentEvent)
RunEndEvent = TypeVar("RunEndEvent", RunFailed, RunFinished)
LOST = "lost"
"""What a step answers when its execution no longer holds the work: the function ends and says nothing."""


def parse_event(kind: type[ParsedEvent], event: inngest.Event) -> ParsedEvent:
    """The event a run was started by; one that lacks its fields is forged or foreign, and trying again is no use."""
    try:
        return kind.of(event)
    except ValidationError as error:
        raise inngest.NonRetriableError(
            f"{event.name} lacks what it must carry: {error.error_count()} faults"
        ) from None


def parse_engine_event(kind: type[RunEndEvent], event: inngest.Event) -> RunEndEvent:
    """What the engine itself says of a run; never what somebody gives who has the function invoked."""
    if event.name != kind.name:
        raise inngest.NonRetriableError(f"{event.name} is not the engine's word on a run")
    try:
        return kind.of(event)
    except ValidationError:
        raise inngest.NonRetriableError(f"{event.name} does not say which run of which function it is of") from None


def as_step(act: Callable[[], StepResult]) -> Callable[[], StepResult | str]:
    """Wrap the body of a step. A lost hold is an answer, a living lease a retry after its end."""

    def body() -> StepResult | str:
        try:
            return act()
        except LostError:
            return LOST
        except BusyError as error:
            raise inngest.RetryAfterError(str(error), error.wait) from error
        except LoopwrightError as error:
            if error.retriable:
                raise
            raise inngest.NonRetriableError(str(error)) from error

    return body
