"""What the supervisor is asked to run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

Ready = Callable[[], bool] | str


@dataclass(frozen=True)
class ProcessSpec:
    """One process that shall live as long as the supervisor does.

    `env` is laid over the supervisor's own environment. `ready` is an address that answers 200, or a function that
    says so; it may be asked often.
    """

    name: str
    argv: tuple[str, ...]
    port: int
    ready: Ready
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
