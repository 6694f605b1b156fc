"""The states of an order, by table."""

from __future__ import annotations

import pytest

from generation.states import ENDED, FINAL, OPEN, State, before, may_become

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


@pytest.mark.parametrize("now", State)
@pytest.mark.parametrize("then", State)
def test_only_these_moves_are_possible(now: State, then: State) -> None:
    assert may_become(now, then) == (then.value in FORWARD[now.value].split())
    assert (now in before(then)) == may_become(now, then)


@pytest.mark.parametrize("final", FINAL)
def test_29_what_is_final_stays(final: State) -> None:
    assert not any(may_become(final, then) for then in State)


def test_nothing_that_ended_is_open_again() -> None:
    assert set(OPEN) | set(ENDED) == set(State)
    assert not any(may_become(ended, then) for ended in ENDED for then in OPEN)
