"""The events of the agent's functions. They carry ids, never authority; nobody else reads `event.data`."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, ClassVar, Literal, Self

import inngest
from pydantic import BaseModel, ConfigDict, Field

APP_ID = "loopwright"
"""The Inngest app of the agent's functions."""


class Event(BaseModel):
    """Base of every event; the class names the event, the fields are its data."""

    model_config = ConfigDict(frozen=True, extra="ignore")
    name: ClassVar[str]

    workspace_id: str

    @classmethod
    def of(cls, event: inngest.Event) -> Self:
        """Read an arrived event; raises pydantic's ValidationError when a field is missing."""
        return cls.model_validate(dict(event.data))


class MessageReceived(Event):
    name = "message/received"
    message_id: str


class MainRequested(Event):
    name = "message/main.requested"
    turn_id: str


class TurnRequested(Event):
    name = "turn/requested"
    turn_id: str


class TurnFinished(Event):
    name = "turn/finished"
    turn_id: str


class MessageAnswered(Event):
    name = "message/answered"
    message_id: str


class ForgetRequested(Event):
    """A person confirmed on a card that something is forgotten."""

    name = "memory/forget.requested"
    card_id: str


class GenerationOrdered(Event):
    name = "generation/ordered"
    order_id: str


class GenerationNews(Event):
    """The provider called back, or somebody cancelled: whoever waits for the order looks again."""

    name = "generation/news.arrived"
    order_id: str


class NoticeRequested(Event):
    name = "notice/requested"
    notice_id: str


class SearchChanged(Event):
    """Entries were put or removed: the index has something to follow."""

    name = "search/entries.changed"


class WatchRequested(Event):
    name = "watch/requested"
    workspace_id: str = ""


class SkillQuarantined(Event):
    """A version of a skill failed too often in a row and serves no longer."""

    name = "skill/quarantined"
    skill_id: str
    version_id: str


class SkillReviewRequested(Event):
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
