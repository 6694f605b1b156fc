"""States of an order and the moves between them. Orders only move forward; final states do not change."""

from __future__ import annotations

from enum import StrEnum


class OrderState(StrEnum):
    """State of an order.

    `unresolved`: paid work may have been started and its outcome is unknown. Only a late end leaves this state.
    """

    ORDERED = "ordered"
    SUBMITTING = "submitting"
    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    UNRESOLVED = "unresolved"


OPEN_ORDER_STATES = (OrderState.ORDERED, OrderState.SUBMITTING, OrderState.QUEUED, OrderState.RUNNING)
FINAL_ORDER_STATES = (OrderState.SUCCEEDED, OrderState.FAILED, OrderState.CANCELLED)
ENDED_ORDER_STATES = (*FINAL_ORDER_STATES, OrderState.UNRESOLVED)
CORRECTABLE_STATES = (OrderState.FAILED, OrderState.CANCELLED)
"""Final, but corrected to `unresolved` when the provider has made something after all (see `dispute`)."""
PROVIDER_STATES = (OrderState.QUEUED, OrderState.RUNNING)

_NEXT: dict[OrderState, tuple[OrderState, ...]] = {
    OrderState.ORDERED: (OrderState.SUBMITTING, OrderState.FAILED, OrderState.CANCELLED),
    # Back to `ordered` only when the provider certainly accepted nothing.
    OrderState.SUBMITTING: (
        OrderState.ORDERED,
        OrderState.QUEUED,
        OrderState.RUNNING,
        OrderState.FAILED,
        OrderState.CANCELLED,
        OrderState.UNRESOLVED,
    ),
    OrderState.QUEUED: (
        OrderState.RUNNING,
        OrderState.SUCCEEDED,
        OrderState.FAILED,
        OrderState.CANCELLED,
        OrderState.UNRESOLVED,
    ),
    OrderState.RUNNING: (OrderState.SUCCEEDED, OrderState.FAILED, OrderState.CANCELLED, OrderState.UNRESOLVED),
    OrderState.UNRESOLVED: FINAL_ORDER_STATES,
    OrderState.SUCCEEDED: (),
    OrderState.FAILED: (),
    OrderState.CANCELLED: (),
}


def may_become(now: OrderState, then: OrderState) -> bool:
    """Tell whether an order may move from one state to another."""
    return then in _NEXT[now]


def states_before(then: OrderState) -> tuple[OrderState, ...]:
    """Return the states from which an order may become `then`."""
    return tuple(state for state, following in _NEXT.items() if then in following)
