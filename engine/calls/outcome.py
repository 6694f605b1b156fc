"""Outcome of a call to an app: the function returned, told of steps, or failed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Opcode:
    """One thing the app's function does or wants next; `id` is the hashed step id."""

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
        return self.opts.get("parallelMode") == "race"


@dataclass(frozen=True)
class Returned:
    """The function ended with this output, JSON text."""

    output: str


@dataclass(frozen=True)
class Stepped:
    """The function told of steps."""

    opcodes: Sequence[Opcode]


@dataclass(frozen=True)
class FunctionFailed:
    """The function's own code failed, or the app did not answer as one; `summary` says it in a few words."""

    error: dict[str, Any]
    summary: str | None = None


@dataclass(frozen=True)
class CallOutcome:
    """`retry_at` is when the app asked to be called again; `sdk_version` what it speaks, None when it did not say."""

    result: Returned | Stepped | FunctionFailed
    started_at: int
    no_retry: bool = False
    retry_at: int | None = None
    sdk_version: int | None = None
