from __future__ import annotations

import pytest

from app.supervise.restart import RestartPolicy

POLICY = RestartPolicy(first=0.2, factor=2, longest=15, healthy_after=10)


@pytest.mark.parametrize(
    ("deaths", "pause"),
    [(1, 0.2), (2, 0.4), (3, 0.8), (7, 12.8), (8, 15), (100_000, 15)],
)
def test_the_pause_grows_to_its_longest(deaths: int, pause: float) -> None:
    assert POLICY.pause(deaths) == pytest.approx(pause)


@pytest.mark.parametrize(("before", "served", "now"), [(0, 0.1, 1), (4, 9.9, 5), (4, 10, 1)])
def test_a_process_that_served_long_starts_the_row_anew(before: int, served: float, now: int) -> None:
    assert POLICY.in_a_row(before, served) == now
