"""The tool protocol: a tool, the effect and context of its calls, and their result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from pydantic import BaseModel

from core.database import Database, Scope


class Effect(StrEnum):
    """What a call may do to the world.

    Before a tool that is WRITE or IRREVERSIBLE runs, the person's role is checked. PAID alone asks for nothing: such a
    tool places its order through `generation/approval/place.py::place_order`, which asks the guard and, above a limit,
    a person on a card.
    """

    READ = "read"
    WRITE = "write"
    PAID = "paid"
    IRREVERSIBLE = "irreversible"


class Fence(Protocol):
    """The right to act for a turn: its epoch and the token of the lease."""

    def check(self, scope: Scope) -> None:
        """Raise LostError unless this execution still holds the running turn; part of the caller's transaction."""
        ...


@dataclass(frozen=True)
class CallContext:
    """The context of one call: its person, task and turn, and the way to the rows.

    `call_id` is `turn:step:seq` and is the key of every effect of the call.
    """

    database: Database
    fence: Fence
    workspace_id: str
    person_id: str
    asked_by: str
    task_id: str | None
    turn_id: str
    call_id: str
    language: str

    @contextmanager
    def transaction(self, name: str = "tool") -> Iterator[Scope]:
        """Open a transaction that commits only while this execution holds the turn."""
        with self.database.transaction(self.workspace_id, name) as scope:
            self.fence.check(scope)
            yield scope

    @contextmanager
    def reading(self) -> Iterator[Scope]:
        with self.database.reading(self.workspace_id) as scope:
            yield scope


@dataclass(frozen=True)
class ToolResult:
    """The JSON that the model is shown. With `ok` false it is an error that the model can act on, not a crash."""

    content: Mapping[str, Any] = field(default_factory=dict)
    ok: bool = True


class Tool(Protocol):
    """One ability. `repeatable` says that running it again under the same call id has one effect.

    A tool that writes waits while a person is asked at a checkpoint. One that may run nevertheless, since it keeps the
    plan, asks a person or calls something off, says `held_at_checkpoint = False`. It is no member of the protocol, so
    that a tool may leave it out: see `is_held_at_checkpoint`.
    """

    @property
    def name(self) -> str: ...
    @property
    def domain(self) -> str:
        """The field of work: `core`, `document`, `skills`, `image`, `video`, `audio` or `model3d`.

        Nothing loads, permits or refuses a tool by it yet.
        """
        ...

    @property
    def effect(self) -> Effect: ...
    @property
    def repeatable(self) -> bool: ...
    @property
    def description(self) -> str: ...
    @property
    def arguments(self) -> type[BaseModel]: ...

    def run(self, call: CallContext, arguments: Any) -> ToolResult:
        """Act once for `call.call_id`.

        Raise InvalidError, NotFoundError, RefusedError or ConflictError, and the model reads the message as the call's
        result. UnavailableError, which says that nothing was started, is tried again. LostError ends the turn's
        execution. An exception that is no LoopwrightError is a fault: a repeatable tool is tried again until the turn
        fails; of another one the model learns that its outcome is unknown.
        """
        ...


def is_held_at_checkpoint(tool: Tool) -> bool:
    """Tell whether a tool that writes waits for the answer to an open checkpoint card: yes, unless it says False."""
    return tool.effect is Effect.WRITE and getattr(tool, "held_at_checkpoint", True) is not False
