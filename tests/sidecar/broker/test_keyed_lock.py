"""The same question of the same run is not asked while it is being answered."""

from __future__ import annotations

import threading

from sidecar.broker.broker import KeyedLock
from tests.support.waiting import until


def test_who_comes_second_with_the_same_name_waits_and_others_do_not() -> None:
    turns, order = KeyedLock(), list[str]()

    def second() -> None:
        with turns.hold("same"):
            order.append("second")

    waiter = threading.Thread(target=second)
    with turns.hold("same"):
        waiter.start()
        until("it waits", lambda: turns._wanted["same"] == 2)
        with turns.hold("other"):
            order.append("first")
    waiter.join(30)

    assert order == ["first", "second"]
    assert not turns._locks
