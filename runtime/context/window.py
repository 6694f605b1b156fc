"""Which of a task's steps its history shows.

The first one shown moves in whole blocks, so that between two moves the history only grows at its end and a
provider's prompt cache can hold it.
"""

from __future__ import annotations

from collections.abc import Sequence

MOST_STEPS = 60
BLOCK = 20
MOST_CHARACTERS = 200_000
SMALL_BLOCK = 5


def first_of(total: int) -> int:
    """The number (from 0) of the first of `total` steps that is shown."""
    over = max(0, total - MOST_STEPS)
    return -(-over // BLOCK) * BLOCK


def first_that_fits(sizes: Sequence[int], first: int) -> int:
    """The first step shown when those from `first` on have these sizes; the last step is shown whatever its size."""
    left = sum(sizes)
    start = first
    for n, size in enumerate(sizes[:-1], start=first):
        if left <= MOST_CHARACTERS and start % SMALL_BLOCK == 0:
            break
        left -= size
        start = n + 1
    return start
