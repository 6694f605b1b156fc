"""Events of the agent's functions, and the bells that send them.

Events carry ids, never authority, and only this module reads `event.data`. A bell is an event that wakes a function;
since the facts are in the database, the watch can ring a lost bell again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, ClassVar, Literal, Protocol, Self

import inngest
from pydantic import BaseModel, ConfigDict, Field

APP_ID = "loopwright"
"""The Inngest app of the agent's functions."""


class AgentEvent(BaseModel):
    """Base of all events: the class has the name of the event, its fields are the data."""

    model_config = ConfigDict(frozen=True, extra="ignore")
    name: ClassVar[str]

    workspace_id: str

    @classmethod
    def of(cls, event: inngest.Event) -> Self:
        """Read an arrived event; raises pydantic's ValidationError when a field is missing."""
        return cls.model_validate(dict(event.data))


class MessageReceived(AgentEvent):
    """A message is stored and must be routed."""

    name = "message/received"
    message_id: str


class MainRequested(AgentEvent):
    """A turn of the main conversation must run."""

    name = "message/main.requested"
    turn_id: str


class TurnRequested(AgentEvent):
    """A turn of a task must run."""

    name = "turn/requested"
    turn_id: str


class TurnFinished(AgentEvent):
    """A task's turn has ended, and what people said in the messages it read is due for the memory."""

    name = "turn/finished"
    turn_id: str


class MessageAnswered(AgentEvent):
    """Main has answered a person's message, or the watch found one that is due: the memory must read it."""

    name = "message/answered"
    message_id: str


class ForgetRequested(AgentEvent):
    """A person confirmed on a card that something must be forgotten."""

    name = "memory/forget.requested"
    card_id: str


class GenerationOrdered(AgentEvent):
    """An order is approved and must be carried out."""

    name = "generation/ordered"
    order_id: str


class GenerationNews(AgentEvent):
    """The provider called back or a person cancelled: the function that waits for the order must look at it."""

    name = "generation/news.arrived"
    order_id: str


class NoticeRequested(AgentEvent):
    """A notice must be delivered."""

    name = "notice/requested"
    notice_id: str


class SearchChanged(AgentEvent):
    """Entries were put or removed, so the index must be updated."""

    name = "search/entries.changed"


class WatchRequested(AgentEvent):
    """A run of the watch must begin, as an app has registered. It covers all workspaces; `workspace_id` is not read."""

    name = "watch/requested"
    workspace_id: str = ""


class SkillQuarantined(AgentEvent):
    """A version of a skill failed too often in a row and was taken out of service."""

    name = "skill/quarantined"
    skill_id: str
    version_id: str


class SkillReviewRequested(AgentEvent):
    """Skills must be reviewed: the named one, or else all that are in service."""

    name = "skill/review.requested"
    workspace_id: str = ""
    skill_id: str = ""


class RunFailed(BaseModel):
    """The engine's own event `inngest/function.failed`: a run failed for good."""

    model_config = ConfigDict(frozen=True, extra="ignore")
    name: ClassVar[str] = "inngest/function.failed"

    function_id: str
    run_id: str
    error: Any = None
    event: Any = None

    @classmethod
    def of(cls, event: inngest.Event) -> Self:
        """Read an arrived event; raises pydantic's ValidationError when a field is missing."""
        return cls.model_validate(dict(event.data))


class RunFinished(BaseModel):
    """The engine's own event `inngest/function.finished`: a run ended, at `at`."""

    model_config = ConfigDict(frozen=True, extra="ignore")
    name: ClassVar[str] = "inngest/function.finished"

    function_id: Annotated[str, Field(max_length=200)]
    run_id: Annotated[str, Field(min_length=1, max_length=64)]
    status: Literal["completed", "failed", "cancelled"]
    at: datetime
    result: Any = None
    error: Any = None
    event: Any = None

    @classmethod
    def of(cls, event: inngest.Event) -> Self:
        """Read an arrived event; raises pydantic's ValidationError when a field is missing."""
        details = event.data.get("_inngest")
        status = details.get("status") if isinstance(details, Mapping) else None
        end = {"status": str(status).lower(), "at": datetime.fromtimestamp(event.ts / 1000, UTC)}
        return cls.model_validate({**event.data, **end})


@dataclass(frozen=True)
class Bell:
    """An event with an id derived from its cause; the engine handles an id once in 24 hours."""

    event: AgentEvent
    id: str


class Bells(Protocol):
    """The port that sends bells. It never raises and never waits; the watch rings lost bells again."""

    def ring(self, bell: Bell) -> None: ...


class SilentBells:
    """Sends nothing; for commands that only read, and for tests that look at `Scope.bells`."""

    def ring(self, bell: Bell) -> None:
        del bell
