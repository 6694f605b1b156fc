"""The specification of a process that the supervisor shall run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

Ready = Callable[[], bool] | str


@dataclass(frozen=True)
class ForkSpec:
    """A process that needs no program of its own: `call` in a fork of the supervisor, whose imports it shares.

    `preload` names modules that the supervisor loads before it starts the process. `warm` names those that it loads
    once everything is ready, so that the process has them when it must be started again. None of them may start a
    thread.
    """

    call: Callable[[], None]
    preload: tuple[str, ...] = ()
    warm: tuple[str, ...] = ()


@dataclass(frozen=True)
class ProcessSpec:
    """One process that shall live as long as the supervisor does.

    `env` is laid over the supervisor's own environment. `ready` is an address that answers 200, or a function that
    says so; it may be asked often. With `fork`, `argv` is what stands in for it where forking is not safe. A `late` one
    is started some seconds after all others are ready, and nobody waits for it.
    """

    name: str
    argv: tuple[str, ...]
    port: int
    ready: Ready
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    fork: ForkSpec | None = None
    late: bool = False
