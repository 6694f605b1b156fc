"""Requests that a child may make: their shapes, and how they are read from untrusted bytes."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import Base64Bytes, BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from core.llm.text import clean_json
from sidecar.broker.errors import RequestFailed

EffectKey = Annotated[str, StringConstraints(min_length=1, max_length=400)]
ShortText = Annotated[str, StringConstraints(min_length=1, max_length=32)]
_MOST_DEPTH = 100


class BrokerRequest(BaseModel):
    """A request. Unknown fields are refused, so that none is ignored without notice."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class HttpRequest(BrokerRequest):
    """A request to a host."""

    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
    url: str = Field(max_length=8000)
    params: dict[str, list[str]] = Field(default_factory=dict, max_length=100)
    headers: dict[str, str] = Field(default_factory=dict, max_length=50)
    content: Base64Bytes | None = None
    timeout: float = Field(30, gt=0, le=120)


class LlmRequest(BrokerRequest):
    """A question to the model."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    prompt: str = Field(min_length=1, max_length=200_000)
    name: str = Field("answer", pattern=r"^[A-Za-z0-9_-]{1,64}$")
    shape: dict[str, Any] | None = Field(None, alias="schema")
    facts: dict[str, Any] | None = None
    max_tokens: int = Field(1000, ge=1, le=16_000)


class NotifyRequest(BrokerRequest):
    """A notice to a channel; `ask` are answers that people may pick from."""

    channel: str = Field(pattern=r"^[a-z][a-z0-9_-]{0,31}$")
    text: str = Field(min_length=1, max_length=20_000)
    key: EffectKey | None = None
    ask: list[ShortText] = Field(default_factory=list, max_length=6)


class EventToSend(BaseModel):
    """An event as the SDK sends it; other fields are dropped."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    name: str = Field(min_length=1, max_length=200)
    data: dict[str, Any] | None = None
    id: str | None = Field(None, max_length=400)
    ts: int | None = Field(None, ge=0)


class EventsRequest(BrokerRequest):
    """Events to send to the engine."""

    events: list[EventToSend] = Field(min_length=1, max_length=100)


class AskAgentRequest(BrokerRequest):
    """A message to the agent."""

    text: str = Field(min_length=1, max_length=20_000)
    key: EffectKey | None = None


class MemoryRequest(BrokerRequest):
    """A search in the memory."""

    query: str = Field(min_length=1, max_length=4000)
    limit: int = Field(8, ge=1, le=20)


class RunsRequest(BrokerRequest):
    """A list of the skill's newest runs."""

    limit: int = Field(20, ge=1, le=100)


class ClaimRequest(BrokerRequest):
    """A lock for this run."""

    key: str = Field(min_length=1, max_length=200)
    minutes: float = Field(60, gt=0, le=7 * 24 * 60)


class ReleaseRequest(BrokerRequest):
    """The release of a lock, of this run or of the run `run_id`."""

    key: str = Field(min_length=1, max_length=200)
    run_id: str | None = Field(None, max_length=64)


def read_request(shape: type[BrokerRequest], body: bytes, *, events: bool) -> BrokerRequest:
    """Parse a request; with `events`, the body is one event or a list of them. Raises RequestFailed."""
    try:
        value = json.loads(clean_json(body.decode("utf-8", "replace")))
        _check_plain(value)
        if events:
            # The SDK sends bare events, one or several.
            value = {"events": value if isinstance(value, list) else [value]}
        return shape.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise RequestFailed(f"the request is malformed: {place}: {first['msg']}", retriable=False) from None
    except (ValueError, RecursionError):
        raise RequestFailed("the request is not JSON", retriable=False) from None


def _check_plain(value: Any) -> None:
    """Raise ValueError for NaN and infinities, RecursionError for values nested more than `_MOST_DEPTH` deep.

    The values are later written as JSON, which is done by recursion.
    """
    json.dumps(value, allow_nan=False)
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(_MOST_DEPTH):
        within = (one.values() if isinstance(one, dict) else one for one in level)
        level = [one for values in within for one in values if isinstance(one, dict | list)]
        if not level:
            return
    raise RecursionError
