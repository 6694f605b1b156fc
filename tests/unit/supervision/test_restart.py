from __future__ import annotations

import pytest

from app.supervision.supervisor import RestartPolicy

POLICY = RestartPolicy(first=0.2, factor=2, longest=15, healthy_after=10)


@pytest.mark.parametrize(
    ("deaths", "pause"),
    [(1, 0.2), (2, 0.4), (3, 0.8), (7, 12.8), (8, 15), (100_000, 15)],
)
def test_the_pause_grows_to_its_longest(deaths: int, pause: float) -> None:
    assert POLICY.pause(deaths) == pytest.approx(pause)


@pytest.mark.parametrize(
    ("before", "served", "start_took", "now"),
    [(0, 0.1, 1, 1), (4, 9.9, 1, 5), (4, 10, 1, 1), (4, 19, 20, 5), (4, 20, 20, 1), (4, 0, 0, 5)],
)
def test_a_process_that_served_long_starts_the_row_anew(
    before: int, served: float, start_took: float, now: int
) -> None:
    assert POLICY.in_a_row(before, served, start_took) == now
