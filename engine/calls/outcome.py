"""Outcome of a call to an app: the function returned, reported steps, or failed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Opcode:
    """One step that the function reports as done, failed or wanted next; `id` is the hashed step id."""

    op: str
    id: str
    name: str
    display_name: str
    opts: dict[str, Any]
    data: Any
    error: dict[str, Any] | None
    size: int

    @property
    def race(self) -> bool:
        """Whether the step races with others: the function continues after each of them, not after all."""
        return self.opts.get("parallelMode") == "race"


@dataclass(frozen=True)
class Returned:
    """The function ended and returned this output, JSON text."""

    output: str


@dataclass(frozen=True)
class Stepped:
    """The function reported steps."""

    opcodes: Sequence[Opcode]


@dataclass(frozen=True)
class FunctionFailed:
    """The function's own code failed, or the answer was not that of an SDK; `summary` is a short form of the error."""

    error: dict[str, Any]
    summary: str | None = None


@dataclass(frozen=True)
class CallOutcome:
    """The result of a call; `retry_at` is when the app asked to be called again, `sdk_version` its protocol version."""

    result: Returned | Stepped | FunctionFailed
    started_at: int
    no_retry: bool = False
    retry_at: int | None = None
    sdk_version: int | None = None
