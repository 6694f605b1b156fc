"""Opaque ids that sort by the time they were made."""

from __future__ import annotations

import secrets
import time
from typing import Protocol

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_RANDOM_BITS = 80


class Ids(Protocol):
    """Makes ids; `new("task")` answers something like `task_01j9…`."""

    def new(self, prefix: str) -> str: ...


def _base32(number: int, length: int) -> str:
    digits = []
    for _ in range(length):
        number, digit = divmod(number, 32)
        digits.append(_ALPHABET[digit])
    return "".join(reversed(digits))


class RandomIds:
    """48 bits of milliseconds and 80 random bits, in lower-case base 32."""

    def new(self, prefix: str) -> str:
        return f"{prefix}_{_base32(time.time_ns() // 1_000_000, 10)}{_base32(secrets.randbits(_RANDOM_BITS), 16)}"


class CountedIds:
    """`task_1`, `task_2`, `card_3` …; for tests that read better with short ids."""

    def __init__(self) -> None:
        self._count = 0

    def new(self, prefix: str) -> str:
        self._count += 1
        return f"{prefix}_{self._count}"
