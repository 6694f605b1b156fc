"""Errors with a meaning. Only the functions' shell and the web translate them, for the engine and for HTTP."""

from __future__ import annotations

from datetime import timedelta
from typing import ClassVar


class LoopwrightError(Exception):
    """Base of all errors; the message says what failed, for which thing, and what to do."""

    retriable: ClassVar[bool] = False
    code: ClassVar[str] = "failed"

    def facts(self) -> dict[str, object]:
        """Return fields that a program needs to handle the error."""
        return {}


class NotFoundError(LoopwrightError):
    """The thing is not in this workspace."""

    code = "not_found"


class InvalidError(LoopwrightError):
    """The request cannot be understood or exceeds a limit."""

    code = "invalid"


class RefusedError(LoopwrightError):
    """The request is understood, but the caller may not do this, or the present state does not allow it."""

    code = "refused"


class ConflictError(LoopwrightError):
    """Another change came first: a newer version, an answered card, a consumed message, a reused key."""

    code = "conflict"

    def __init__(self, message: str, **facts: object) -> None:
        super().__init__(message)
        self._facts = facts

    def facts(self) -> dict[str, object]:
        return dict(self._facts)


class LostError(LoopwrightError):
    """This execution no longer holds its turn or order: it must stop and start nothing more."""

    code = "lost"


class BusyError(LoopwrightError):
    """Another execution holds the lease; try again after `wait`."""

    retriable = True
    code = "busy"

    def __init__(self, message: str, wait: timedelta) -> None:
        super().__init__(message)
        self.wait = wait


class UnavailableError(LoopwrightError):
    """A service did not answer as it should. Nothing was started there, so the request may be sent again."""

    retriable = True
    code = "unavailable"


class UnclearError(LoopwrightError):
    """A paid request was sent and its outcome is unknown, so it is never sent again automatically."""

    code = "unclear"


class ModelError(LoopwrightError):
    """The model's answer cannot be used, even after one repair round."""

    code = "model"
