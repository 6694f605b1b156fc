"""The specification of a process for the supervisor to run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

Ready = Callable[[], bool] | str


@dataclass(frozen=True)
class ForkSpec:
    """A process started by forking the supervisor, whose imports it shares; the fork runs `call`.

    `preload` names modules that the supervisor imports before it starts the process. `warm` names modules that it
    imports once everything is ready, so that a restarted process has them. None of them may start a thread.
    """

    call: Callable[[], None]
    preload: tuple[str, ...] = ()
    warm: tuple[str, ...] = ()


@dataclass(frozen=True)
class ProcessSpec:
    """A process that lives as long as the supervisor does.

    `env` is added to the supervisor's own environment. `ready` is an address that returns 200 once the process is
    ready, or a function; it may be called often. With `fork`, `argv` is used where forking is not safe. A `late`
    process starts some seconds after all others are ready, and nothing waits for it.
    """

    name: str
    argv: tuple[str, ...]
    port: int
    ready: Ready
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    fork: ForkSpec | None = None
    late: bool = False
