"""Resource limits of a skill's process."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

MEBIBYTE = 1024 * 1024
MOST_CALLS_A_SKILL = 8
"""Of one skill at once, at most."""


class Limits(BaseModel):
    """Of each process of a skill, except `processes`, which all of a version share, as they share `disk`: a run that
    has more than its share of them is ended, so that the others have theirs.

    Seconds are of one call: `seconds` on the wall, `cpu_seconds` of the processor. Memory, file and disk are in bytes.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    seconds: float = Field(900, gt=0)
    cpu_seconds: int = Field(300, gt=0)
    memory: int = Field(512 * MEBIBYTE, gt=0)
    processes: int = Field(128, gt=0)
    files: int = Field(128, gt=0)
    file_bytes: int = Field(32 * MEBIBYTE, gt=0)
    disk: int = Field(64 * MEBIBYTE, gt=0)

    @property
    def share(self) -> int:
        """The processes and threads that one run may have: as many runs as there are calls fit, and who forks them."""
        return max(2, (self.processes - 1) // MOST_CALLS_A_SKILL)
