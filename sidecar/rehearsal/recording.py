"""What is known of a run that ended: what a version is rehearsed on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sidecar.broker.recordings import Exchange, Recordings
from skills.runs import SkillRun


@dataclass(frozen=True)
class Recording:
    """One run: what it was asked, what the broker answered it, what its steps were remembered as, and its output."""

    run_id: str
    function_id: str
    event: Mapping[str, Any]
    exchanges: Sequence[Exchange] = ()
    memos: Mapping[str, Any] | None = None
    output: Any = None


def recording_of(run: SkillRun, recordings: Recordings) -> Recording | None:
    """The recording of a run; None when its event was too large to be kept."""
    if run.event.get("cut") is True and "beginning" in run.event:
        return None
    return Recording(
        run_id=run.run_id,
        function_id=run.function_id,
        event=run.event,
        exchanges=recordings.read(run.skill_id, run.run_id),
        memos=recordings.memos(run.skill_id, run.run_id),
        output=run.output,
    )
