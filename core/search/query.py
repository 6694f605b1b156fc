"""Find entries by words and by meaning, and score them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from core.database import Scope
from core.errors import UnavailableError
from core.search import collections
from core.search.collections import IndexCollection
from core.search.dependencies import SearchDependencies
from core.search.index import IndexAwayError, Where
from core.search.tables import search_entries
from core.search.vectors import Vector, cosines, nearest
from core.search.words import query_words

_WORD = re.compile(r"\w+")
_INSIDE = 0.6
"""What a word counts that stands only inside a longer one."""
_WORDS_ALONE = 0.9
"""What all the words of a query count without any likeness of meaning."""


def share_of_words(words: Sequence[str], folded: str) -> float:
    """How much of a query's words stands in a folded text, between 0 and 1; long ones, which are rarer, count more."""
    if not words:
        return 0.0
    whole = set(_WORD.findall(folded))
    found = sum(
        len(word) * (1.0 if word in whole or not word.isascii() else _INSIDE) for word in words if word in folded
    )
    return found / sum(map(len, words))


def score_entry(cosine: float | None, unlike: float, words: float) -> float:
    """Between 0 and 1: either kind of likeness is enough, both together are more. `unlike` is what counts as none."""
    meaning = 0.0 if cosine is None else min(1.0, max(0.0, (cosine - unlike) / (1.0 - unlike)))
    # Squared: of a long question a "the" stands in any text.
    return 1.0 - (1.0 - meaning) * (1.0 - _WORDS_ALONE * words**2)


_PAGE = 2_000
_FEWEST = 24
"""How many candidates each way brings at least: what the index has not yet let go of takes a place among them."""


@dataclass(frozen=True)
class SearchHit:
    """An entry that was found; `score` is between 0 (nothing in common) and 1."""

    id: str
    text: str
    score: float


@dataclass(frozen=True)
class SearchResult:
    """Best first. `degraded`: the index or the model did not answer, and the entries themselves were looked through."""

    hits: tuple[SearchHit, ...]
    degraded: bool


def find_hits(
    search: SearchDependencies, where: Where, query: str, *, limit: int = 8, within: float = 1.0
) -> SearchResult:
    """At most `limit` entries inside `where`. `within` is how long the index may take, in seconds.

    What was put is found and what was removed is not, from the commit on, whatever the index knows. An index that is
    away raises nothing.
    """
    if not query.strip() or limit < 1 or not _has_any(search, where):
        return SearchResult((), degraded=False)
    count, words, vector = max(_FEWEST, limit * 3), query_words(query), _vector(search, query)
    # What is pending is looked at before the index is asked: once more could be indexed in between, and be in neither.
    with search.database.reading(where.workspace_id) as scope:
        collection = collections.find_collection(scope, search.embedder.id)
        ids = set(_with_words(scope, where, words, count))
        if vector is not None:
            ids |= set(nearest(vector.data, _pages(scope, where, vector.model, pending=True), count))
    near = _ask_index(search, collection, where, vector, count, within)
    with search.database.reading(where.workspace_id) as scope:
        if near is None and vector is not None:
            ids |= set(nearest(vector.data, _pages(scope, where, vector.model, pending=False), count))
        rows = _rows(scope, where, ids | set(near or ()))
    # Where nothing was ever indexed, nobody waits for an index to come back.
    degraded = vector is None or (near is None and collection is not None)
    return SearchResult(_ranked(search, rows, vector, words)[:limit], degraded)


def _has_any(search: SearchDependencies, where: Where) -> bool:
    with search.database.reading(where.workspace_id) as scope:
        return scope.first(scope.select(search_entries.c.id).where(*_inside(where)).limit(1)) is not None


def _inside(where: Where) -> tuple[sa.ColumnElement[bool], ...]:
    return (
        search_entries.c.room == where.room,
        search_entries.c.scope.in_(where.scopes),
        search_entries.c.removed_at.is_(None),
    )


def _vector(search: SearchDependencies, query: str) -> Vector | None:
    try:
        return search.embedder.embed([query])[0]
    except UnavailableError:
        return None


def _ask_index(
    search: SearchDependencies,
    collection: IndexCollection | None,
    where: Where,
    vector: Vector | None,
    count: int,
    within: float,
) -> list[str] | None:
    """What the index finds near; None when there is none yet, or it, or the model, is away."""
    if vector is None or collection is None:
        return None
    try:
        return search.index.near(collection.name, where, vector.data, count, within)
    except IndexAwayError:
        return None


def _with_words(scope: Scope, where: Where, words: Sequence[str], count: int) -> list[str]:
    """Entries in which the words stand, those with the most and longest first."""
    if not words:
        return []
    stands = [search_entries.c.folded.contains(word, autoescape=True) for word in words]
    weight: Any = sum(sa.case((one, len(word)), else_=0) for one, word in zip(stands, words, strict=True))
    query = scope.select(search_entries.c.id).where(*_inside(where), sa.or_(*stands))
    return [
        row.id for row in scope.rows(query.order_by(weight.desc(), search_entries.c.changed_at.desc()).limit(count))
    ]


def _pages(scope: Scope, where: Where, model: str, *, pending: bool) -> Iterator[list[tuple[str, bytes]]]:
    query = scope.select(search_entries.c.id, search_entries.c.vector).where(
        *_inside(where), search_entries.c.model == model
    )
    if pending:
        query = query.where(search_entries.c.indexed_at.is_(None))
    last = ""
    while rows := scope.rows(query.where(search_entries.c.id > last).order_by(search_entries.c.id).limit(_PAGE)):
        yield [(row.id, row.vector) for row in rows]
        last = rows[-1].id


def _rows(scope: Scope, where: Where, ids: set[str]) -> list[sa.Row[Any]]:
    """The entries themselves, asked of the database: whatever else was said about them, it has the last word."""
    if not ids:
        return []
    return scope.rows(scope.select(search_entries).where(*_inside(where), search_entries.c.id.in_(sorted(ids))))


def _ranked(
    search: SearchDependencies, rows: Sequence[sa.Row[Any]], vector: Vector | None, words: Sequence[str]
) -> tuple[SearchHit, ...]:
    alike: dict[str, float] = {}
    if vector is not None:
        same = [row for row in rows if row.model == vector.model]
        alike = dict(zip((row.id for row in same), cosines(vector.data, [row.vector for row in same]), strict=True))
    scored = [
        (score_entry(alike.get(row.id), search.embedder.unlike, share_of_words(words, row.folded)), row) for row in rows
    ]
    scored.sort(key=lambda one: (-one[0], -one[1].changed_at.timestamp(), one[1].id))
    return tuple(SearchHit(row.id, row.text, score) for score, row in scored if score > 0)
