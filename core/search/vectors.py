"""Vectors of texts: the port to an embedder, and comparison of vectors without an index."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from heapq import nlargest
from typing import Protocol, TypeVar

MAX_CHARACTERS = 600
"""The length of text that is embedded. An entry is a sentence or two; whole pages would take seconds."""

Id = TypeVar("Id")


@dataclass(frozen=True)
class Vector:
    """A vector of length one as little-endian float32. Only vectors of the same `model` can be compared."""

    model: str
    data: bytes = field(repr=False)


class Embedder(Protocol):
    """Turns texts into vectors, in any thread. It is slow, so never call it in a transaction."""

    @property
    def id(self) -> str:
        """The name of the model with its version, which is a part of the collection's name."""

    @property
    def dim(self) -> int:
        """The number of dimensions."""

    @property
    def degraded(self) -> bool:
        """Whether it compares only spelling, not meaning."""

    @property
    def unlike(self) -> float:
        """The cosine of two texts that have nothing to do with each other."""

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Return a vector for each text, in order. Raises UnavailableError when the model cannot be loaded."""


def embeddable_text(text: str) -> str:
    """Return the beginning of a text as an embedder takes it: valid UTF-8 without NUL, never empty."""
    piece = text[:MAX_CHARACTERS].replace("\0", " ").encode("utf-8", "replace").decode()
    return piece if piece.strip() else "-"


def prefer_one_thread() -> None:
    """Limit numeric libraries to one thread, unless the environment says otherwise; call it before loading one.

    A process that has used OpenMP with several threads hangs when it forks, and one thread is steadier on busy cores.
    """
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(name, "1")


def cosines(vector: bytes, others: Sequence[bytes]) -> list[float]:
    """Return the cosine of `vector` with each of `others`, all of length one and of the same model."""
    prefer_one_thread()
    import numpy  # noqa: PLC0415 - slow to load, so only where vectors are compared

    if not others:
        return []
    one = numpy.frombuffer(vector, dtype="<f4")
    rows = numpy.frombuffer(b"".join(others), dtype="<f4").reshape(len(others), len(one))
    return [float(value) for value in rows @ one]


def nearest(vector: bytes, pages: Iterable[Sequence[tuple[Id, bytes]]], count: int) -> list[Id]:
    """Return the ids of the `count` nearest vectors, nearest first; only one page must fit in memory."""
    best: list[tuple[float, int, Id]] = []
    for page in pages:
        scored = zip(cosines(vector, [data for _, data in page]), (name for name, _ in page), strict=True)
        ranked = [(score, -len(best) - n, name) for n, (score, name) in enumerate(scored)]
        best = nlargest(count, best + ranked, key=lambda one: one[:2])
    return [name for _, _, name in best]
