"""Bells: events that wake and carry nothing but ids."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from core.events import Event


@dataclass(frozen=True)
class Bell:
    """An event with the id of its cause: the engine answers one id once in 24 hours."""

    event: Event
    id: str


class Bells(Protocol):
    """Sends bells. It never raises and never makes a person wait: what is lost, the watch rings again."""

    def ring(self, bell: Bell) -> None: ...


class SilentBells:
    """Rings nothing; for commands that only read, and for tests that look at `Scope.bells`."""

    def ring(self, bell: Bell) -> None:
        del bell
