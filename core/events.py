"""The events of the agent's functions, and the bells that ring them.

Events carry ids, never authority, and only this module reads `event.data`. A bell is an event that wakes: the facts
are in the database, so a lost bell is rung again by the watch.
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
    """Base of every event; the class names the event, the fields are its data."""

    model_config = ConfigDict(frozen=True, extra="ignore")
    name: ClassVar[str]

    workspace_id: str

    @classmethod
    def of(cls, event: inngest.Event) -> Self:
        """Read an arrived event; raises pydantic's ValidationError when a field is missing."""
        return cls.model_validate(dict(event.data))


class MessageReceived(AgentEvent):
    name = "message/received"
    message_id: str


class MainRequested(AgentEvent):
    name = "message/main.requested"
    turn_id: str


class TurnRequested(AgentEvent):
    name = "turn/requested"
    turn_id: str


class TurnFinished(AgentEvent):
    name = "turn/finished"
    turn_id: str


class MessageAnswered(AgentEvent):
    name = "message/answered"
    message_id: str


class ForgetRequested(AgentEvent):
    """A person confirmed on a card that something is forgotten."""

    name = "memory/forget.requested"
    card_id: str


class GenerationOrdered(AgentEvent):
    name = "generation/ordered"
    order_id: str


class GenerationNews(AgentEvent):
    """The provider called back, or somebody cancelled: whoever waits for the order looks again."""

    name = "generation/news.arrived"
    order_id: str


class NoticeRequested(AgentEvent):
    name = "notice/requested"
    notice_id: str


class SearchChanged(AgentEvent):
    """Entries were put or removed: the index has something to follow."""

    name = "search/entries.changed"


class WatchRequested(AgentEvent):
    name = "watch/requested"
    workspace_id: str = ""


class SkillQuarantined(AgentEvent):
    """A version of a skill failed too often in a row and serves no longer."""

    name = "skill/quarantined"
    skill_id: str
    version_id: str


class SkillReviewRequested(AgentEvent):
    """Skills are to be reviewed: the one that is named, else every one that serves."""

    name = "skill/review.requested"
    workspace_id: str = ""
    skill_id: str = ""


class RunFailed(BaseModel):
    """What the engine says of a run that failed for good; `inngest/function.failed` is its event, not ours."""

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
    """What the engine says of a run that came to its end, whichever it was; `at` is the moment of that."""

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
        told = event.data.get("_inngest")
        status = told.get("status") if isinstance(told, Mapping) else None
        said = {"status": str(status).lower(), "at": datetime.fromtimestamp(event.ts / 1000, UTC)}
        return cls.model_validate({**event.data, **said})


@dataclass(frozen=True)
class Bell:
    """An event with the id of its cause: the engine answers one id once in 24 hours."""

    event: AgentEvent
    id: str


class Bells(Protocol):
    """Sends bells. It never raises and never makes a person wait: what is lost, the watch rings again."""

    def ring(self, bell: Bell) -> None: ...


class SilentBells:
    """Rings nothing; for commands that only read, and for tests that look at `Scope.bells`."""

    def ring(self, bell: Bell) -> None:
        del bell
