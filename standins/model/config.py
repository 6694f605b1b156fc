"""Configuration of the stand-in model."""

from dataclasses import dataclass, field
from pathlib import Path

from core.clock import Clock, SystemClock

MODEL = "standin-1"


@dataclass(frozen=True)
class ModelConfig:
    """The settings of one stand-in model in one folder.

    `folder` is created if missing and has the log. With `key` None no key is needed, and only this machine is
    answered. `faults` adds the endpoints `/faults` and `/replay`.
    """

    folder: Path
    key: str | None = field(default=None, repr=False)
    faults: bool = False
    clock: Clock = field(default_factory=SystemClock)
