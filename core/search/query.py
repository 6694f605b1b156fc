"""Query of entries by words and by meaning, with scores."""

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
_PART_WEIGHT = 0.6
"""The weight of a word that is found only as a part of a longer one."""
_WORDS_WEIGHT = 0.9
"""The score of an entry with all words of the query but no similarity of meaning."""
_PAGE = 2_000
_MIN_CANDIDATES = 24
"""The least number of candidates of each kind; removed entries that are still in the index count among them."""


@dataclass(frozen=True)
class SearchHit:
    """A found entry; `score` is between 0 (nothing in common) and 1."""

    id: str
    text: str
    score: float


@dataclass(frozen=True)
class SearchResult:
    """Hits, best first; `degraded`: without the index or the model, so that entries were compared directly."""

    hits: tuple[SearchHit, ...]
    degraded: bool


def find_hits(
    search: SearchDependencies, where: Where, query: str, *, limit: int = 8, within: float = 1.0
) -> SearchResult:
    """Find at most `limit` entries in `where`; the index may take `within` seconds.

    Entries are found, or found no longer, from the commit that puts or removes them, whatever state the index is in.
    An index that does not answer raises nothing.
    """
    if not query.strip() or limit < 1 or not _has_any(search, where):
        return SearchResult((), degraded=False)
    count, words, vector = max(_MIN_CANDIDATES, limit * 3), query_words(query), _embed_query(search, query)
    # Read pending entries before asking the index; in the other order, one indexed in between would be missed.
    with search.database.reading(where.workspace_id) as scope:
        collection = collections.find_collection(scope, search.embedder.id)
        ids = set(_find_by_words(scope, where, words, count))
        if vector is not None:
            ids |= set(nearest(vector.data, _read_pages(scope, where, vector.model, pending=True), count))
    near = _ask_index(search, collection, where, vector, count, within)
    with search.database.reading(where.workspace_id) as scope:
        if near is None and vector is not None:
            ids |= set(nearest(vector.data, _read_pages(scope, where, vector.model, pending=False), count))
        rows = _read_rows(scope, where, ids | set(near or ()))
    # If nothing was ever indexed, a missing index is no degradation.
    degraded = vector is None or (near is None and collection is not None)
    return SearchResult(_rank(search, rows, vector, words)[:limit], degraded)


def _has_any(search: SearchDependencies, where: Where) -> bool:
    with search.database.reading(where.workspace_id) as scope:
        return scope.first(scope.select(search_entries.c.id).where(*_conditions(where)).limit(1)) is not None


def _conditions(where: Where) -> tuple[sa.ColumnElement[bool], ...]:
    return (
        search_entries.c.room == where.room,
        search_entries.c.scope.in_(where.scopes),
        search_entries.c.removed_at.is_(None),
    )


def _embed_query(search: SearchDependencies, query: str) -> Vector | None:
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
    """Ask the index for the nearest entries; None when there is no index yet, or it or the model does not answer."""
    if vector is None or collection is None:
        return None
    try:
        return search.index.near(collection.name, where, vector.data, count, within)
    except IndexAwayError:
        return None


def _find_by_words(scope: Scope, where: Where, words: Sequence[str], count: int) -> list[str]:
    """Find entries that contain words of the query, those with the most and longest words first."""
    if not words:
        return []
    contains = [search_entries.c.folded.contains(word, autoescape=True) for word in words]
    weight: Any = sum(sa.case((one, len(word)), else_=0) for one, word in zip(contains, words, strict=True))
    query = scope.select(search_entries.c.id).where(*_conditions(where), sa.or_(*contains))
    return [
        row.id for row in scope.rows(query.order_by(weight.desc(), search_entries.c.changed_at.desc()).limit(count))
    ]


def _read_pages(scope: Scope, where: Where, model: str, *, pending: bool) -> Iterator[list[tuple[str, bytes]]]:
    query = scope.select(search_entries.c.id, search_entries.c.vector).where(
        *_conditions(where), search_entries.c.model == model
    )
    if pending:
        query = query.where(search_entries.c.indexed_at.is_(None))
    last = ""
    while rows := scope.rows(query.where(search_entries.c.id > last).order_by(search_entries.c.id).limit(_PAGE)):
        yield [(row.id, row.vector) for row in rows]
        last = rows[-1].id


def _read_rows(scope: Scope, where: Where, ids: set[str]) -> list[sa.Row[Any]]:
    """Read the entries from the database, which decides what is found, whatever the index says."""
    if not ids:
        return []
    return scope.rows(scope.select(search_entries).where(*_conditions(where), search_entries.c.id.in_(sorted(ids))))


def _rank(
    search: SearchDependencies, rows: Sequence[sa.Row[Any]], vector: Vector | None, words: Sequence[str]
) -> tuple[SearchHit, ...]:
    likeness: dict[str, float] = {}
    if vector is not None:
        same = [row for row in rows if row.model == vector.model]
        likeness = dict(zip((row.id for row in same), cosines(vector.data, [row.vector for row in same]), strict=True))
    scored = []
    for row in rows:
        words_share = share_of_words(words, row.folded)
        scored.append((score_entry(likeness.get(row.id), search.embedder.unlike, words_share), row))
    scored.sort(key=lambda one: (-one[0], -one[1].changed_at.timestamp(), one[1].id))
    return tuple(SearchHit(row.id, row.text, score) for score, row in scored if score > 0)


def share_of_words(words: Sequence[str], folded: str) -> float:
    """Return the share of a query's words in a folded text, from 0 to 1; long words, which are rarer, count more."""
    if not words:
        return 0.0
    whole = set(_WORD.findall(folded))
    found = sum(
        len(word) * (1.0 if word in whole or not word.isascii() else _PART_WEIGHT) for word in words if word in folded
    )
    return found / sum(map(len, words))


def score_entry(cosine: float | None, unlike: float, words: float) -> float:
    """Return a score from 0 to 1 by meaning, by words, or by both; `unlike` is the cosine of unrelated texts."""
    meaning = 0.0 if cosine is None else min(1.0, max(0.0, (cosine - unlike) / (1.0 - unlike)))
    # Squared, since any text contains the short words of a long question.
    return 1.0 - (1.0 - meaning) * (1.0 - _WORDS_WEIGHT * words**2)
