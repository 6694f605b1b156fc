"""Configuration of the studio."""

from dataclasses import dataclass, field
from pathlib import Path

from core.clock import Clock, SystemClock
from core.ids import Ids, RandomIds

DEFAULT_PACE = {"image": 1.0, "video": 2.0, "audio": 0.5, "model3d": 0.5}


@dataclass(frozen=True)
class StudioConfig:
    """One studio in one folder.

    `folder` is made when missing and used by one process at a time. `pace` is how many seconds of waiting are added to
    a job so that a person sees its progress move; None takes the kind's own (`DEFAULT_PACE`), 0 adds nothing. `faults`
    adds the `/faults` endpoint. `public_url` is this server's own address: the addresses of outputs start with it.
    """

    folder: Path
    jobs_key: str = field(repr=False)
    public_url: str
    pace: float | None = None
    faults: bool = False
    clock: Clock = field(default_factory=SystemClock)
    ids: Ids = field(default_factory=RandomIds)

    def pace_of(self, kind: str) -> float:
        """Seconds of waiting added to a job of this kind."""
        return DEFAULT_PACE[kind] if self.pace is None else self.pace
