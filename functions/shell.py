"""The one place where our errors become the engine's: try again later, try again, or never."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import inngest

from core.errors import BusyError, LoopwrightError, LostError

Result = TypeVar("Result")
LOST = "lost"
"""What a step answers when its execution no longer holds the work: the function ends and says nothing."""


def stepped(act: Callable[[], Result]) -> Callable[[], Result | str]:
    """Wrap the body of a step. A lost hold is an answer, a living lease a retry after its end."""

    def body() -> Result | str:
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
