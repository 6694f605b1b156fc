"""Ports that the rooms above the runtime implement and the composition root fills."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from core.database import Scope


class StateSource(Protocol):
    """A part of the state a model is shown: the keys it owns, as JSON, fresh from the rows."""

    def __call__(self, scope: Scope, task_id: str | None) -> Mapping[str, Any]: ...


class OpenOrders(Protocol):
    """The ids of a task's orders that are not final, oldest first."""

    def __call__(self, scope: Scope, task_id: str) -> Sequence[str]: ...


class EffectsOfCall(Protocol):
    """What stands under a call's id in the rows of a room: `kind`, `id`, and what a model needs to know of each."""

    def __call__(self, scope: Scope, call_id: str) -> Sequence[Mapping[str, Any]]: ...


class EvidenceCheck(Protocol):
    """Whether a thing that a checklist step names as evidence is there, in this workspace."""

    def __call__(self, scope: Scope, thing_id: str) -> bool: ...
