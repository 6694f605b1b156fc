"""Shell around the functions: the only place where events are parsed and our errors become the engine's."""

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
"""Output of a step whose execution has lost its lease: the function ends without doing anything more."""


def parse_event(kind: type[ParsedEvent], event: inngest.Event) -> ParsedEvent:
    """Parse the event that started a run. One without the needed fields is forged or foreign, so it is not retried."""
    try:
        return kind.of(event)
    except ValidationError as error:
        raise inngest.NonRetriableError(
            f"{event.name} lacks what it must carry: {error.error_count()} faults"
        ) from None


def parse_engine_event(kind: type[RunEndEvent], event: inngest.Event) -> RunEndEvent:
    """Parse the engine's own event about a run; refuse data that was passed by invoking the function directly."""
    if event.name != kind.name:
        raise inngest.NonRetriableError(f"{event.name} is not the engine's word on a run")
    try:
        return kind.of(event)
    except ValidationError:
        raise inngest.NonRetriableError(f"{event.name} does not say which run of which function it is of") from None


def as_step(act: Callable[[], StepResult]) -> Callable[[], StepResult | str]:
    """Wrap the body of a step and translate its errors.

    LostError becomes the output `LOST`, BusyError a retry once the other lease has expired, and an error that is not
    retriable ends the run. Everything else passes through, to be retried.
    """

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
