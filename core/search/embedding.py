"""The port to whatever turns a text into a vector of its meaning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

MOST_CHARACTERS = 600
"""What of a text an embedder looks at. An entry is a sentence or two; pages would take it seconds."""


@dataclass(frozen=True)
class Vector:
    """A direction of length one as little-endian float32. Only vectors of one `model` can be compared."""

    model: str
    data: bytes = field(repr=False)


class Embedder(Protocol):
    """Turns texts into vectors; any thread may ask. It is slow: never inside a transaction."""

    @property
    def id(self) -> str:
        """Names the model and its version; it is part of a collection's name."""

    @property
    def dim(self) -> int: ...

    @property
    def degraded(self) -> bool:
        """Whether it knows spelling only, not meaning."""

    @property
    def unlike(self) -> float:
        """The cosine of two texts that have nothing to do with each other."""

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        """A vector for each text, in their order. Raises UnavailableError when the model cannot be loaded."""


def readable(text: str) -> str:
    """What an embedder is given of a text: a piece of valid UTF-8 without NUL, never empty."""
    piece = text[:MOST_CHARACTERS].replace("\0", " ").encode("utf-8", "replace").decode()
    return piece if piece.strip() else "-"
