"""The states of an order, by table."""

from __future__ import annotations

import pytest

from generation.orders.states import (
    ENDED_ORDER_STATES,
    FINAL_ORDER_STATES,
    OPEN_ORDER_STATES,
    OrderState,
    may_become,
    states_before,
)

FORWARD = {
    "ordered": "submitting failed cancelled",
    "submitting": "ordered queued running failed cancelled unresolved",
    "queued": "running succeeded failed cancelled unresolved",
    "running": "succeeded failed cancelled unresolved",
    "unresolved": "succeeded failed cancelled",
    "succeeded": "",
    "failed": "",
    "cancelled": "",
}


@pytest.mark.parametrize("now", OrderState)
@pytest.mark.parametrize("then", OrderState)
def test_only_these_moves_are_possible(now: OrderState, then: OrderState) -> None:
    assert may_become(now, then) == (then.value in FORWARD[now.value].split())
    assert (now in states_before(then)) == may_become(now, then)


@pytest.mark.boundary(29)
@pytest.mark.parametrize("final", FINAL_ORDER_STATES)
def test_a_final_state_stays(final: OrderState) -> None:
    assert not any(may_become(final, then) for then in OrderState)


def test_nothing_that_ended_is_open_again() -> None:
    assert set(OPEN_ORDER_STATES) | set(ENDED_ORDER_STATES) == set(OrderState)
    assert not any(may_become(ended, then) for ended in ENDED_ORDER_STATES for then in OPEN_ORDER_STATES)
