"""No rehearsal: what is to be tried counts as tried."""

from __future__ import annotations

from skills.lifecycle import Trial
from skills.runs import SkillRun
from skills.versions import Version


def untried(version: Version, runs: list[SkillRun], *, live: bool) -> Trial:
    del version, live
    return Trial(len(runs))
