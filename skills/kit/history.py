"""What became of the skill's own runs."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict

from skills.kit.door import door


class Run(BaseModel):
    """One run of this skill. `status` is running, completed, failed, cancelled or lost; `output` is of ended ones."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    run_id: str
    function: str
    version_id: str
    status: str
    began_at: datetime
    ended_at: datetime | None
    output: Any


def runs(limit: int = 20) -> list[Run]:
    """The skill's own runs, newest first, at most 100; this one is among them."""
    said = door.ask("runs", "/runs", {"limit": limit})
    return [Run.model_validate(one) for one in said["items"]]
