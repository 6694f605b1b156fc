"""What a child may ask, as it must be said."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Base64Bytes, BaseModel, ConfigDict, Field, StringConstraints

Key = Annotated[str, StringConstraints(min_length=1, max_length=400)]
Short = Annotated[str, StringConstraints(min_length=1, max_length=32)]


class Ask(BaseModel):
    """A request; what it does not know is refused, so that no one believes it was heard."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class HttpAsk(Ask):
    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
    url: str = Field(max_length=8000)
    params: dict[str, list[str]] = Field(default_factory=dict, max_length=100)
    headers: dict[str, str] = Field(default_factory=dict, max_length=50)
    content: Base64Bytes | None = None
    timeout: float = Field(30, gt=0, le=120)


class LlmAsk(Ask):
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    prompt: str = Field(min_length=1, max_length=200_000)
    name: str = Field("answer", pattern=r"^[A-Za-z0-9_-]{1,64}$")
    shape: dict[str, Any] | None = Field(None, alias="schema")
    facts: dict[str, Any] | None = None
    max_tokens: int = Field(1000, ge=1, le=16_000)


class NotifyAsk(Ask):
    channel: str = Field(pattern=r"^[a-z][a-z0-9_-]{0,31}$")
    text: str = Field(min_length=1, max_length=20_000)
    key: Key | None = None
    ask: list[Short] = Field(default_factory=list, max_length=6)


class EventAsk(BaseModel):
    """An event as the SDK sends it; what it says beside these is dropped."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    name: str = Field(min_length=1, max_length=200)
    data: dict[str, Any] | None = None
    id: str | None = Field(None, max_length=400)
    ts: int | None = Field(None, ge=0)


class EventsAsk(Ask):
    events: list[EventAsk] = Field(min_length=1, max_length=100)


class AgentAsk(Ask):
    text: str = Field(min_length=1, max_length=20_000)
    key: Key | None = None


class MemoryAsk(Ask):
    query: str = Field(min_length=1, max_length=4000)
    limit: int = Field(8, ge=1, le=20)


class RunsAsk(Ask):
    limit: int = Field(20, ge=1, le=100)


class ClaimAsk(Ask):
    key: str = Field(min_length=1, max_length=200)
    minutes: float = Field(60, gt=0, le=7 * 24 * 60)


class ReleaseAsk(Ask):
    key: str = Field(min_length=1, max_length=200)
    run_id: str | None = Field(None, max_length=64)
