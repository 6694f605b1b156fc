"""Opaque ids that sort by the time at which they were made."""

from __future__ import annotations

import secrets
import threading
import time
from typing import Protocol

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_RANDOM_BITS = 80


class Ids(Protocol):
    """A source of new ids; `new("task")` returns one such as `task_01j9…`."""

    def new(self, prefix: str) -> str: ...


def _base32(number: int, length: int) -> str:
    digits = []
    for _ in range(length):
        number, digit = divmod(number, 32)
        digits.append(_ALPHABET[digit])
    return "".join(reversed(digits))


class RandomIds:
    """Ids of 48 bits of milliseconds and 80 random bits, in lower-case base 32.

    Each id of a process sorts after the ones before it, also within a millisecond.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last = 0

    def new(self, prefix: str) -> str:
        drawn = (time.time_ns() // 1_000_000 << _RANDOM_BITS) | secrets.randbits(_RANDOM_BITS)
        with self._lock:
            # A random step within a millisecond keeps the next id hard to guess.
            self._last = max(drawn, self._last + 1 + secrets.randbits(_RANDOM_BITS - 16))
            number = self._last
        return f"{prefix}_{_base32(number, 26)}"


class CountedIds:
    """Short counted ids (`task_1`, `task_2`, `card_3`), which make tests easier to read."""

    def __init__(self) -> None:
        self._count = 0

    def new(self, prefix: str) -> str:
        self._count += 1
        return f"{prefix}_{self._count}"
