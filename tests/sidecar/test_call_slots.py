"""A skill whose runs hang takes its own places and no other's."""

from __future__ import annotations

import threading
from contextlib import ExitStack
from functools import partial
from typing import Any

import pytest

from sidecar.protocol.call_slots import FEWEST_SLOTS, SLOTS_A_SKILL, SLOTS_IN_ALL, CallSlots, limit_concurrency
from tests.support.waiting import until


def taken(slots: CallSlots, stem: str, count: int, stack: ExitStack) -> list[bool]:
    return [stack.enter_context(slots.hold(stem)) for _ in range(count)]


def test_a_skill_has_so_many_and_others_still_find_one() -> None:
    slots = CallSlots(each=3, most=100, waiting=0)
    with ExitStack() as stack:
        assert taken(slots, "hangs", 5, stack) == [True, True, True, False, False]
        assert taken(slots, "other", 3, stack) == [True, True, True]
    with ExitStack() as stack:
        assert taken(slots, "hangs", 3, stack) == [True, True, True]


def test_skills_that_hang_leave_a_healthy_one_all_that_the_engine_was_told() -> None:
    """Given six that hang with all they may, half of all places, the next one has as many as they had."""
    slots = CallSlots(waiting=0, long=30)
    with ExitStack() as stack:
        for stem in range(SLOTS_IN_ALL // 2 // SLOTS_A_SKILL):
            assert all(taken(slots, f"hangs {stem}", SLOTS_A_SKILL, stack))
        assert taken(slots, "healthy", SLOTS_A_SKILL + 1, stack) == [True] * SLOTS_A_SKILL + [False]


def test_from_half_on_a_skill_whose_calls_take_long_has_a_few() -> None:
    slots = CallSlots(each=4, most=16, waiting=0, long=0)
    with ExitStack() as stack:
        for stem in ("one", "two"):
            assert all(taken(slots, stem, 4, stack))
        for stem in ("three", "four", "five", "six"):
            assert taken(slots, stem, 3, stack) == [True] * FEWEST_SLOTS + [False]
        assert taken(slots, "seven", 1, stack) == [False]


def test_from_three_quarters_on_each_has_a_few() -> None:
    slots = CallSlots(each=4, most=16, waiting=0, long=30)
    with ExitStack() as stack:
        for stem in ("one", "two", "three"):
            assert all(taken(slots, stem, 4, stack))
        for stem in ("four", "five"):
            assert taken(slots, stem, 3, stack) == [True] * FEWEST_SLOTS + [False]
        assert taken(slots, "six", 1, stack) == [False]


def test_who_waits_has_a_place_in_order_and_one_skill_cannot_wait_for_all() -> None:
    slots = CallSlots(each=1, most=1, waiting=10, wait=30)
    order: list[str] = []

    def wait(stem: str) -> None:
        with slots.hold(stem):
            order.append(stem)

    waiters = [threading.Thread(target=wait, args=(stem,)) for stem in ("one", "two", "three", "four")]
    with ExitStack() as stack:
        taken(slots, "one", 1, stack)
        for number, waiter in enumerate(waiters, 1):
            waiter.start()
            until("it waits", partial(waits, slots, number))
        assert taken(slots, "one", 1, stack) == [False]
    for waiter in waiters:
        waiter.join(30)

    assert order == ["one", "two", "three", "four"]


def waits(slots: CallSlots, count: int) -> bool:
    return len(slots._waiting) == count


def test_a_place_is_waited_for_and_not_for_ever() -> None:
    slots = CallSlots(each=1, most=10, waiting=1, wait=30)
    found: list[bool] = []

    def wait() -> None:
        with slots.hold("one") as has_slot:
            found.append(has_slot)

    with ExitStack() as stack:
        taken(slots, "one", 1, stack)
        waiter = threading.Thread(target=wait)
        waiter.start()
        until("it waits", lambda: len(slots._waiting) == 1)
        # One waits, and no more may.
        assert taken(slots, "one", 1, stack) == [False]
    waiter.join(30)
    assert found == [True]

    impatient = CallSlots(each=1, most=10, waiting=1, wait=0.01)
    with ExitStack() as stack:
        assert taken(impatient, "one", 2, stack) == [True, False]


BY_USER = {"limit": 3, "key": "event.data.user"}
BY_PLACE = {"limit": 1, "key": "event.data.place"}


@pytest.mark.parametrize(
    ("own", "functions", "told"),
    [
        (None, 1, [{"limit": SLOTS_A_SKILL, "scope": "fn"}]),
        (None, 2, [{"limit": SLOTS_A_SKILL // 2, "scope": "fn"}]),
        (None, 20, [{"limit": FEWEST_SLOTS, "scope": "fn"}]),
        ([{"limit": 1}], 1, [{"limit": 1, "scope": "fn"}]),
        ([{"limit": 1000, "scope": "fn"}], 1, [{"limit": SLOTS_A_SKILL, "scope": "fn"}]),
        ([{"limit": 0}], 1, [{"limit": SLOTS_A_SKILL, "scope": "fn"}]),
        ([BY_USER], 1, [BY_USER, {"limit": SLOTS_A_SKILL, "scope": "fn"}]),
        ([{"limit": 2}, BY_USER], 1, [BY_USER, {"limit": 2, "scope": "fn"}]),
        ([BY_USER, BY_PLACE], 1, [BY_USER, BY_PLACE]),
    ],
)
def test_the_engine_is_told_a_functions_share(own: Any, functions: int, told: list[dict[str, Any]]) -> None:
    function = {"id": "skill-a-b"} if own is None else {"id": "skill-a-b", "concurrency": own}

    assert limit_concurrency(function, functions) == {"id": "skill-a-b", "concurrency": told}
