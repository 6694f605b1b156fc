"""Resource limits of a skill's process."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

MEBIBYTE = 1024 * 1024
MOST_CALLS_A_SKILL = 8
"""Calls of one skill at a time."""


class Limits(BaseModel):
    """Limits of each process of a skill. All processes of a version share `processes` and `disk`.

    A run that takes more than its share of those is ended, so that the others have theirs. `seconds` (wall clock) and
    `cpu_seconds` (processor time) are for one call. Memory, files and disk are in bytes.
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
        """Processes and threads that one run may have, so that all calls fit beside the process that forks them."""
        return max(2, (self.processes - 1) // MOST_CALLS_A_SKILL)
