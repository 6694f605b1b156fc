"""Recall of facts that fit a question, within a time limit. A slow or failed recall never fails its caller."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from core.database import Database
from core.errors import LoopwrightError
from core.search.dependencies import SearchDependencies
from core.search.index import Where
from core.search.query import find_hits
from memory import facts
from memory.facts import ROOM, MemoryFact

log = logging.getLogger(__name__)
MOST = 20
LEAST = 0.05
"""Score below which a fact has nothing to do with the question."""


@dataclass(frozen=True)
class Recalled:
    """Facts that fit, best first, each with how well it fits, from 0 to 1.

    `degraded`: the index did not answer. `timed_out`: the search took too long, so an empty result says nothing.
    """

    items: tuple[tuple[MemoryFact, float], ...] = ()
    degraded: bool = False
    timed_out: bool = False


def recall(
    search: SearchDependencies,
    workspace_id: str,
    within: Sequence[str],
    query: str,
    *,
    limit: int = 8,
    seconds: float = 2.0,
    least: float = LEAST,
) -> Recalled:
    """Find what fits `query` in these scopes with at least the score `least`; failures are reported in the result.

    Raises ValueError without a scope.
    """
    where = Where(workspace_id, ROOM, tuple(within))
    if not query.strip():
        return Recalled()
    done: list[Recalled] = []

    def search_in_thread() -> None:
        done.append(_search(search, where, query, min(limit, MOST), seconds, least))

    # A thread cannot be stopped: one that is too slow ends later, and its answer is not used.
    worker = threading.Thread(target=search_in_thread, name="recall", daemon=True)
    worker.start()
    worker.join(seconds)
    return done[0] if done else Recalled(degraded=True, timed_out=True)


def _search(search: SearchDependencies, where: Where, query: str, limit: int, seconds: float, least: float) -> Recalled:
    try:
        found = find_hits(search, where, query, limit=limit, within=seconds / 2)
        hits = [hit for hit in found.hits if hit.score >= least]
        known = _visible_facts(search.database, where, [hit.id for hit in hits])
    except (LoopwrightError, sa.exc.SQLAlchemyError) as error:
        log.warning("recall: %s: %s", type(error).__name__, error)
        return Recalled(degraded=True, timed_out=True)
    items = tuple((known[hit.id], hit.score) for hit in hits if hit.id in known)
    return Recalled(items, degraded=found.degraded)


def _visible_facts(database: Database, where: Where, ids: Sequence[str]) -> dict[str, MemoryFact]:
    with database.reading(where.workspace_id) as scope:
        found = facts.facts_by_ids(scope, ids)
    return {fact.id: fact for fact in found.values() if fact.known and fact.text and fact.scope in where.scopes}
