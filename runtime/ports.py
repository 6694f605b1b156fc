"""Ports of the runtime. The rooms above it implement them, and the composition root hands them in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

from core.database import Scope


class StateSource(Protocol):
    """Reads a part of the state that the model is shown: the keys it owns, as JSON, from the current rows."""

    def __call__(self, scope: Scope, task_id: str | None) -> Mapping[str, Any]: ...


class ObjectDescription(Protocol):
    """Describes an object as it was at a moment: `id`, `kind`, `title` and `version`, or `deleted` for one that is."""

    def __call__(self, scope: Scope, object_id: str, at: datetime) -> Mapping[str, Any]: ...


class OpenOrders(Protocol):
    """Lists the ids of a task's orders that are not final, oldest first."""

    def __call__(self, scope: Scope, task_id: str) -> Sequence[str]: ...


class EffectsOfCall(Protocol):
    """Lists what a call has made in the rows of a room: `kind`, `id`, and what the model needs to know of each."""

    def __call__(self, scope: Scope, call_id: str) -> Sequence[Mapping[str, Any]]: ...


class EvidenceCheck(Protocol):
    """Tells whether a thing that is named as evidence of a checklist step exists and belongs to the task."""

    def __call__(self, scope: Scope, thing_id: str, task_id: str) -> bool: ...
