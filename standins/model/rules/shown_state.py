"""The `<state>` of a worker's prompt, parsed and typed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

OPEN_STATES = frozenset({"ordered", "submitting", "queued", "running"})
BAD_STATES = frozenset({"failed", "cancelled", "unresolved"})


@dataclass(frozen=True)
class ShownWork:
    """An object of the workspace."""

    id: str
    kind: str
    title: str
    version: int
    changed: bool


@dataclass(frozen=True)
class ShownOrder:
    id: str
    kind: str
    title: str
    state: str
    object_ids: tuple[str, ...]
    error: str

    @property
    def open(self) -> bool:
        return self.state in OPEN_STATES

    @property
    def bad(self) -> bool:
        return self.state in BAD_STATES


@dataclass(frozen=True)
class ShownStep:
    """A step of the checklist."""

    n: int
    title: str
    status: str
    stale: bool

    @property
    def left(self) -> bool:
        return self.status not in {"done", "skipped"} or self.stale


@dataclass(frozen=True)
class ShownState:
    thread: str
    language: str
    task_id: str
    task_kind: str
    goal: str
    brief: str
    checklist: Sequence[ShownStep]
    objects: Sequence[ShownWork]
    orders: Sequence[ShownOrder]
    open_cards: Sequence[Mapping[str, Any]]
    tasks: Sequence[Mapping[str, Any]]


def read_state(state: Mapping[str, Any]) -> ShownState:
    """Parse the state. Missing fields become empty: a request of another client has none of them."""
    task = _mapping(state.get("task"))
    return ShownState(
        thread=str(state.get("thread") or "main"),
        language=str(state.get("language") or task.get("language") or "en"),
        task_id=str(task.get("id") or ""),
        task_kind=str(task.get("kind") or ""),
        goal=str(task.get("goal") or ""),
        brief=str(state.get("brief") or ""),
        checklist=[
            ShownStep(int(item.get("n") or 0), _text(item, "title"), _text(item, "status"), bool(item.get("stale")))
            for item in _rows(state, "checklist")
        ],
        objects=[
            ShownWork(_text(item, "id"), _text(item, "kind"), _text(item, "title"), int(item.get("version") or 1),
                 bool(item.get("changed")))
            for item in _rows(state, "objects")
        ],
        orders=[
            ShownOrder(_text(item, "id"), _text(item, "kind"), _text(item, "title"), _text(item, "state"),
                    tuple(str(one) for one in item.get("object_ids") or ()), _text(item, "error"))
            for item in _rows(state, "orders")
        ],
        open_cards=_rows(state, "open_cards"),
        tasks=_rows(state, "tasks"),
    )  # fmt: skip


def _rows(state: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    listed = state.get(name)
    return [row for row in listed if isinstance(row, Mapping)] if isinstance(listed, list) else []


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _text(row: Mapping[str, Any], name: str) -> str:
    return str(row.get(name) or "")
