"""Vectors of texts: the port to an embedder, and how vectors compare without an index."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from heapq import nlargest
from typing import Protocol, TypeVar

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


def embeddable_text(text: str) -> str:
    """What an embedder is given of a text: a piece of valid UTF-8 without NUL, never empty."""
    piece = text[:MOST_CHARACTERS].replace("\0", " ").encode("utf-8", "replace").decode()
    return piece if piece.strip() else "-"


def prefer_one_thread() -> None:
    """To be called before such a library is loaded, unless the environment says otherwise.

    A process that has used OpenMP with several threads hangs in its forks, and on busy cores one thread is steadier.
    """
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(name, "1")


Id = TypeVar("Id")


def cosines(vector: bytes, others: Sequence[bytes]) -> list[float]:
    """The cosine of `vector` with each of `others`; all are float32 of length one, and of one model."""
    prefer_one_thread()
    import numpy  # noqa: PLC0415 - slow to load, so only where vectors are compared

    if not others:
        return []
    one = numpy.frombuffer(vector, dtype="<f4")
    rows = numpy.frombuffer(b"".join(others), dtype="<f4").reshape(len(others), len(one))
    return [float(value) for value in rows @ one]


def nearest(vector: bytes, pages: Iterable[Sequence[tuple[Id, bytes]]], count: int) -> list[Id]:
    """The ids of the `count` nearest of all pages, nearest first; only a page must fit in memory."""
    best: list[tuple[float, int, Id]] = []
    for page in pages:
        scored = zip(cosines(vector, [data for _, data in page]), (name for name, _ in page), strict=True)
        ranked = [(score, -len(best) - n, name) for n, (score, name) in enumerate(scored)]
        best = nlargest(count, best + ranked, key=lambda one: one[:2])
    return [name for _, _, name in best]
