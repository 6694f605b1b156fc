"""What a child is told, one line of JSON on its standard input; and what it answers, a line each."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from sidecar.child.attempts import Told
from skills.problem import Problem


class Order(BaseModel):
    """Serve `source`, which was saved at `path`, as the app `app_id` under `/api/inngest/<stem>`.

    `broker` is the unix socket, as the child sees it, that leads to the world.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_bytes="base64", val_json_bytes="base64")

    stem: str
    app_id: str
    source: bytes = Field(repr=False)
    path: str
    sha: str
    broker: str


class Answer(BaseModel):
    """`awake`: imports are done, an order is awaited. `serving`: it was carried out, unless `problem` says why not.

    `functions` are the configurations of the skill's functions as the SDK writes them, `tried` what it was seen to
    try while it was loaded.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    state: str
    problem: Problem | None = None
    functions: list[dict[str, Any]] = []
    tried: Told = []
