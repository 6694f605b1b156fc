"""Changes of facts: each change is a version with its evidence and its search entry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from core.database import Scope
from core.errors import NotFoundError
from core.search import entries
from core.search.vectors import Vector
from memory import facts
from memory.deciding import FactStanding
from memory.facts import ROOM, MemoryFact
from memory.fingerprint import fingerprint
from memory.tables import evidence, fact_versions
from memory.tables import facts as fact_rows


@dataclass(frozen=True)
class FactStatement:
    """Content of a version. `vector` is the text's own, made before the transaction."""

    text: str
    vector: Vector
    standing: FactStanding
    valid_from: datetime


@dataclass(frozen=True)
class FactSource:
    """Source of a statement: the person's message, or their correction."""

    kind: str
    id: str


def create_fact(
    scope: Scope, *, within: str, person_id: str, said: FactStatement, sources: Sequence[FactSource]
) -> MemoryFact | None:
    """Create a fact with its first version; None when the scope has one with the same words."""
    fact_id = scope.ids.new("fact")
    added = scope.insert_new(
        fact_rows,
        id=fact_id,
        scope=within,
        person_id=person_id,
        version=1,
        fingerprint=fingerprint(scope.workspace_id, within, said.text),
        created_at=scope.now,
        updated_at=scope.now,
    )
    if not added:
        return None
    _insert_version(scope, fact_id, 1, said)
    add_evidence(scope, fact_id, 1, "origin", sources)
    entries.put_entry(scope, ROOM, fact_id, within, said.text, said.vector)
    scope.changed("memory", fact_id)
    return facts.facts_by_ids(scope, [fact_id])[fact_id]


def confirm_fact(scope: Scope, fact: MemoryFact, sources: Sequence[FactSource]) -> int:
    """Add evidence to the current version, and return its number. A source that the fact already has adds nothing."""
    known = {(one.kind, one.source_id) for one in facts.evidence_of(scope, fact.id)}
    new = [source for source in sources if (source.kind, source.id) not in known]
    if new:
        add_evidence(scope, fact.id, fact.current.n, "confirm", new)
        scope.change(scope.update(fact_rows).where(fact_rows.c.id == fact.id).values(updated_at=scope.now))
        scope.changed("memory", fact.id)
    return fact.current.n


def add_version(
    scope: Scope, fact: MemoryFact, *, role: str, said: FactStatement, sources: Sequence[FactSource], ends_the_old: bool
) -> int:
    """Add a version and make it the current one, and return its number.

    With `ends_the_old` the version before held until the new one began. Otherwise no end is stored for it.
    """
    n = _next_version(scope, fact.id)
    _supersede(scope, fact, said.valid_from if ends_the_old else None)
    _insert_version(scope, fact.id, n, said)
    add_evidence(scope, fact.id, n, role, sources)
    make_current(scope, fact, n, said.text, said.vector)
    return n


def add_old_version(scope: Scope, fact: MemoryFact, *, said: FactStatement, sources: Sequence[FactSource]) -> int:
    """Add a version that held before the current one and became known only now; the current one stays."""
    n = _next_version(scope, fact.id)
    _insert_version(scope, fact.id, n, said, valid_to=fact.current.valid_from, superseded_at=scope.now)
    add_evidence(scope, fact.id, n, "origin", sources)
    scope.changed("memory", fact.id)
    return n


def make_current(scope: Scope, fact: MemoryFact, n: int, text: str, vector: Vector) -> None:
    """Make a version the current one, which recalls return from now on."""
    new_fingerprint = fingerprint(scope.workspace_id, fact.scope, text)
    other = facts.fact_of_words(scope, fact.scope, new_fingerprint)
    # A scope has each fingerprint once. When another fact has the same words, this one goes without.
    mine = other is None or other.id == fact.id
    scope.change(
        scope.update(fact_rows)
        .where(fact_rows.c.id == fact.id)
        .values(version=n, fingerprint=new_fingerprint if mine else None, updated_at=scope.now)
    )
    entries.put_entry(scope, ROOM, fact.id, fact.scope, text, vector)
    scope.changed("memory", fact.id)


def lock_fact(scope: Scope, fact_id: str) -> MemoryFact:
    """Return the fact, locked until the transaction ends; raises NotFoundError when it is forgotten."""
    scope.first(scope.select(fact_rows.c.id).where(fact_rows.c.id == fact_id).with_for_update())
    fact = facts.facts_by_ids(scope, [fact_id]).get(fact_id)
    if fact is None or not fact.known:
        raise NotFoundError(f"nothing is remembered as {fact_id}")
    return fact


def add_evidence(scope: Scope, fact_id: str, n: int, role: str, sources: Sequence[FactSource]) -> None:
    for source in dict.fromkeys(sources):
        scope.insert_new(
            evidence,
            id=scope.ids.new("ev"),
            fact_id=fact_id,
            n=n,
            role=role,
            kind=source.kind,
            source_id=source.id,
            eligible=True,
            created_at=scope.now,
        )


def _next_version(scope: Scope, fact_id: str) -> int:
    highest = scope.select(sa.func.max(fact_versions.c.n).label("n")).where(fact_versions.c.fact_id == fact_id)
    return int(scope.scalar(highest) or 0) + 1


def _insert_version(scope: Scope, fact_id: str, n: int, said: FactStatement, **more: Any) -> None:
    scope.insert(
        fact_versions,
        fact_id=fact_id,
        n=n,
        text=said.text,
        standing=said.standing,
        valid_from=said.valid_from,
        created_at=scope.now,
        **more,
    )


def _supersede(scope: Scope, fact: MemoryFact, held_until: datetime | None) -> None:
    ends = {} if held_until is None else {"valid_to": held_until}
    scope.change(
        scope.update(fact_versions)
        .where(fact_versions.c.fact_id == fact.id, fact_versions.c.n == fact.current.n)
        .values(superseded_at=scope.now, **ends)
    )
