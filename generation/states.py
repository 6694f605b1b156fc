"""The states of an order. They only move forward; what is final stays."""

from __future__ import annotations

from enum import StrEnum


class State(StrEnum):
    """`unresolved`: paid work may have been started and nobody can say what became of it; only a late end leaves it."""

    ORDERED = "ordered"
    SUBMITTING = "submitting"
    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    UNRESOLVED = "unresolved"


OPEN = (State.ORDERED, State.SUBMITTING, State.QUEUED, State.RUNNING)
FINAL = (State.SUCCEEDED, State.FAILED, State.CANCELLED)
ENDED = (*FINAL, State.UNRESOLVED)
CORRECTED = (State.FAILED, State.CANCELLED)
"""Final, and taken back to `unresolved` when the provider, asked, has made something after all (`doubting`)."""
AT_PROVIDER = (State.QUEUED, State.RUNNING)

_NEXT: dict[State, tuple[State, ...]] = {
    State.ORDERED: (State.SUBMITTING, State.FAILED, State.CANCELLED),
    # Back to `ordered` only when the provider certainly accepted nothing.
    State.SUBMITTING: (State.ORDERED, State.QUEUED, State.RUNNING, State.FAILED, State.CANCELLED, State.UNRESOLVED),
    State.QUEUED: (State.RUNNING, State.SUCCEEDED, State.FAILED, State.CANCELLED, State.UNRESOLVED),
    State.RUNNING: (State.SUCCEEDED, State.FAILED, State.CANCELLED, State.UNRESOLVED),
    State.UNRESOLVED: FINAL,
    State.SUCCEEDED: (),
    State.FAILED: (),
    State.CANCELLED: (),
}


def may_become(now: State, then: State) -> bool:
    """Whether an order may move from one state to another."""
    return then in _NEXT[now]


def before(then: State) -> tuple[State, ...]:
    """The states from which an order may become `then`."""
    return tuple(state for state, following in _NEXT.items() if then in following)
