"""Errors with a meaning. The functions' shell and the web translate them; nobody else does."""

from __future__ import annotations

from datetime import timedelta
from typing import ClassVar


class LoopwrightError(Exception):
    """A failure with a meaning; `str()` says what, which, and what to do."""

    retriable: ClassVar[bool] = False
    code: ClassVar[str] = "failed"

    def facts(self) -> dict[str, object]:
        """Fields that a program needs to act on the failure."""
        return {}


class NotFoundError(LoopwrightError):
    """The thing is not in this workspace."""

    code = "not_found"


class InvalidError(LoopwrightError):
    """The request cannot be understood or breaks a stated limit."""

    code = "invalid"


class RefusedError(LoopwrightError):
    """Understood, but the asker may not, or the facts do not allow it."""

    code = "refused"


class ConflictError(LoopwrightError):
    """Somebody was first: a newer version, an answered card, a consumed message, a reused key."""

    code = "conflict"

    def __init__(self, message: str, **facts: object) -> None:
        super().__init__(message)
        self._facts = facts

    def facts(self) -> dict[str, object]:
        return dict(self._facts)


class LostError(LoopwrightError):
    """This execution no longer holds its turn or order: stop, start nothing more."""

    code = "lost"


class BusyError(LoopwrightError):
    """Another execution holds a living lease; try again after `wait`."""

    retriable = True
    code = "busy"

    def __init__(self, message: str, wait: timedelta) -> None:
        super().__init__(message)
        self.wait = wait


class UnavailableError(LoopwrightError):
    """A service did not answer as it should; nothing was started there, so it may be asked again."""

    retriable = True
    code = "unavailable"


class UnclearError(LoopwrightError):
    """A paid request was sent and its outcome is unknown: never sent again by itself."""

    code = "unclear"


class ModelError(LoopwrightError):
    """The model answered something that cannot be used, after the one repair round."""

    code = "model"
