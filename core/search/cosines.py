"""Comparing vectors with one another, without an index."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import nlargest
from typing import TypeVar

from core.search.one_thread import prefer_one_thread

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
