"""What a child is told, one line of JSON on its standard input; and what it answers, a line each."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from skills.problem import Problem


class Order(BaseModel):
    """Serve the version at `snapshot`, written at `path`, as the app `app_id` under `/api/inngest/<stem>`.

    Calls are signed with `key`, which is this child's alone.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    stem: str
    app_id: str
    snapshot: str
    path: str
    sha: str
    key: str = Field(repr=False)
    engine_url: str
    events_url: str
    event_key: str = Field(repr=False)


class Answer(BaseModel):
    """`awake`: imports are done, an order is awaited. `serving`: it was carried out, unless `problem` says why not."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    state: str
    problem: Problem | None = None
