"""Ids: ULIDs of events, runs and queue items; UUIDs of apps and functions, derived from their names."""

import os
import uuid

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_PAIRS = tuple(first + second for first in _ALPHABET for second in _ALPHABET)
_NAMESPACE = uuid.UUID("8f7d4f1e-5a63-5c1b-9d0a-6f1f5e0f7a11")


def ulid(ms: int, entropy: bytes | None = None) -> str:
    """Make a ULID of the given millisecond from 10 bytes of entropy, random by default."""
    number = (ms << 80) | int.from_bytes(entropy if entropy is not None else os.urandom(10), "big")
    return "".join([_PAIRS[(number >> shift) & 1023] for shift in range(120, -10, -10)])


def seeded_ulid(ms: int, entropy: bytes, index: int) -> str:
    """Make the ULID of the event at `index` (from 1) of a request with a seed: equal requests get equal ids."""
    tail = (int.from_bytes(entropy[6:], "big") + index) % (1 << 32)
    return ulid(ms, entropy[:6] + tail.to_bytes(4, "big"))


def is_ulid(text: str) -> bool:
    """Whether the text has the form of a ULID."""
    return len(text) == 26 and all(c in _ALPHABET for c in text.upper())


def ulid_ms(text: str) -> int:
    """Return the millisecond that a ULID contains."""
    value = 0
    for char in text[:10].upper():
        value = value * 32 + _ALPHABET.index(char)
    return value


def app_id(name: str) -> str:
    """Derive the UUID of an app from its name."""
    return str(uuid.uuid5(_NAMESPACE, f"app:{name}"))


def function_id(slug: str) -> str:
    """Derive the UUID of a function from its slug (`<app>-<fn>`)."""
    return str(uuid.uuid5(_NAMESPACE, f"fn:{slug}"))


class Ulids:
    """Generator of ULIDs that grow, also within a millisecond."""

    def __init__(self) -> None:
        self._ms = -1
        self._tail = 0

    def next(self, ms: int) -> str:
        """Return the next ULID of the given millisecond."""
        if ms != self._ms:
            self._ms = ms
            self._tail = int.from_bytes(os.urandom(9), "big")
        self._tail += 1
        return ulid(ms, self._tail.to_bytes(10, "big"))
