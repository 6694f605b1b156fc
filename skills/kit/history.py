"""Read the skill's own runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from skills.kit.door import door


@dataclass(frozen=True)
class Run:
    """One run of this skill. `status` is running, completed, failed, cancelled or lost; `output` is set at the end."""

    run_id: str
    function: str
    version_id: str
    status: str
    began_at: datetime
    ended_at: datetime | None
    output: Any


def runs(limit: int = 20) -> list[Run]:
    """Return the skill's own runs, newest first, at most 100, this one included."""
    said = door.ask("runs", "/runs", {"limit": limit})
    return [_run(one) for one in said["items"]]


def _run(told: Mapping[str, Any]) -> Run:
    ended_at = told["ended_at"]
    return Run(
        run_id=told["run_id"],
        function=told["function"],
        version_id=told["version_id"],
        status=told["status"],
        began_at=datetime.fromisoformat(told["began_at"]),
        ended_at=datetime.fromisoformat(ended_at) if ended_at is not None else None,
        output=told["output"],
    )
