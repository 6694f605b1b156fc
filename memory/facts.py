"""Facts: one statement each, with versions and evidence, and the queries that read them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from core.database import Scope
from core.errors import NotFoundError
from core.sql import statements
from memory import scopes
from memory.deciding import FactStanding
from memory.tables import evidence, fact_versions, facts

ROOM = "memory"
"""The room's name in the search index; an entry's id is its fact's."""


@dataclass(frozen=True)
class RememberedVersion:
    """A version of a fact. `text` is None once forgotten. It held from `valid_from` to `valid_to`, where known."""

    fact_id: str
    n: int
    text: str | None
    standing: FactStanding
    valid_from: datetime
    valid_to: datetime | None
    created_at: datetime
    superseded_at: datetime | None
    cleared_at: datetime | None


@dataclass(frozen=True)
class Evidence:
    """Evidence for a version. `source_id` names a message of the person, or their correction."""

    fact_id: str
    n: int
    role: str
    kind: str
    source_id: str
    eligible: bool
    created_at: datetime


@dataclass(frozen=True)
class MemoryFact:
    """A fact with its current version; `person_id` is who said it first."""

    id: str
    scope: str
    person_id: str
    current: RememberedVersion
    created_at: datetime
    updated_at: datetime
    forgotten_at: datetime | None

    @property
    def text(self) -> str:
        return self.current.text or ""

    @property
    def known(self) -> bool:
        return self.forgotten_at is None


_COLUMNS = (
    facts.c.id,
    facts.c.scope,
    facts.c.person_id,
    facts.c.created_at.label("fact_created_at"),
    facts.c.updated_at,
    facts.c.forgotten_at,
    *fact_versions.c,
)
_IS_CURRENT = sa.and_(fact_versions.c.fact_id == facts.c.id, fact_versions.c.n == facts.c.version)
_GET = statements.select(*_COLUMNS).where(_IS_CURRENT, facts.c.id == sa.bindparam("fact"))
_BY_IDS = statements.select(*_COLUMNS).where(_IS_CURRENT, facts.c.id.in_(sa.bindparam("ids", expanding=True)))
_VERSIONS = (
    statements.select(fact_versions)
    .where(fact_versions.c.fact_id == sa.bindparam("fact"))
    .order_by(fact_versions.c.n.desc())
)
_EVIDENCE = (
    statements.select(evidence)
    .where(evidence.c.fact_id == sa.bindparam("fact"))
    .order_by(evidence.c.n, evidence.c.created_at, evidence.c.id)
)
_SAME_WORDS = statements.select(*_COLUMNS).where(
    _IS_CURRENT, facts.c.scope == sa.bindparam("within"), facts.c.fingerprint == sa.bindparam("print")
)


def get_fact(scope: Scope, fact_id: str, person_id: str) -> MemoryFact:
    """Return a fact that this person may see, forgotten or not; raises NotFoundError."""
    row = scope.first(_GET, fact=fact_id)
    if row is None or not scopes.may_see(row.scope, person_id):
        raise NotFoundError(f"nothing is remembered as {fact_id}")
    return _fact(row)


def facts_by_ids(scope: Scope, fact_ids: Sequence[str]) -> dict[str, MemoryFact]:
    """Return the facts with these ids that exist, forgotten or not, without checking who may see them."""
    return {row.id: _fact(row) for row in scope.rows(_BY_IDS, ids=list(fact_ids))} if fact_ids else {}


def fact_of_words(scope: Scope, within: str, fingerprint: str) -> MemoryFact | None:
    """Return the fact of this scope that says the same in the same words, if there is one."""
    row = scope.first(_SAME_WORDS, within=within, print=fingerprint)
    return None if row is None else _fact(row)


def list_facts(
    scope: Scope,
    within: Sequence[str],
    *,
    at: datetime | None = None,
    after: tuple[datetime, str] | None = None,
    limit: int = 50,
) -> list[MemoryFact]:
    """Return the facts of these scopes, newest first; with `at`, those that held at that time."""
    which = _IS_CURRENT if at is None else fact_versions.c.fact_id == facts.c.id
    query = scope.select(*_COLUMNS).where(which, facts.c.scope.in_(list(within)), facts.c.forgotten_at.is_(None))
    if at is not None:
        ends = sa.or_(fact_versions.c.valid_to.is_(None), fact_versions.c.valid_to > at)
        query = query.where(fact_versions.c.valid_from <= at, ends, fact_versions.c.text.is_not(None), _newest_at(at))
    if after is not None:
        last_at, last_id = after
        older = sa.and_(facts.c.updated_at == last_at, facts.c.id < last_id)
        query = query.where(sa.or_(facts.c.updated_at < last_at, older))
    rows = scope.rows(query.order_by(facts.c.updated_at.desc(), facts.c.id.desc()).limit(limit))
    return [_fact(row) for row in rows]


def _newest_at(at: datetime) -> sa.ColumnElement[bool]:
    """Build the condition that no later version of the fact held at that time too."""
    later = fact_versions.alias()
    return ~sa.exists().where(
        later.c.fact_id == fact_versions.c.fact_id,
        later.c.n > fact_versions.c.n,
        later.c.text.is_not(None),
        later.c.valid_from <= at,
        sa.or_(later.c.valid_to.is_(None), later.c.valid_to > at),
    )


def versions_of(scope: Scope, fact_id: str) -> list[RememberedVersion]:
    """Return all versions, newest first."""
    return [_version(row) for row in scope.rows(_VERSIONS, fact=fact_id)]


def evidence_of(scope: Scope, fact_id: str) -> list[Evidence]:
    """Return all evidence, by version."""
    return [_evidence(row) for row in scope.rows(_EVIDENCE, fact=fact_id)]


def facts_in_full(
    scope: Scope, found: Sequence[MemoryFact]
) -> list[tuple[MemoryFact, list[RememberedVersion], list[Evidence]]]:
    """Return each fact with its evidence and all its versions, newest first."""
    ids = [fact.id for fact in found]
    newest = scope.select(fact_versions).where(fact_versions.c.fact_id.in_(ids)).order_by(fact_versions.c.n.desc())
    every = [_version(row) for row in scope.rows(newest)]
    proofs = scope.select(evidence).where(evidence.c.fact_id.in_(ids))
    known = [_evidence(row) for row in scope.rows(proofs.order_by(evidence.c.n, evidence.c.created_at, evidence.c.id))]
    return [
        (fact, [one for one in every if one.fact_id == fact.id], [one for one in known if one.fact_id == fact.id])
        for fact in found
    ]


def _fact(row: sa.Row[Any]) -> MemoryFact:
    return MemoryFact(
        id=row.id,
        scope=row.scope,
        person_id=row.person_id,
        current=_version(row),
        created_at=row.fact_created_at,
        updated_at=row.updated_at,
        forgotten_at=row.forgotten_at,
    )


def _evidence(row: sa.Row[Any]) -> Evidence:
    return Evidence(row.fact_id, row.n, row.role, row.kind, row.source_id, row.eligible, row.created_at)


def _version(row: sa.Row[Any]) -> RememberedVersion:
    return RememberedVersion(
        fact_id=row.fact_id,
        n=row.n,
        text=row.text,
        standing=row.standing,
        valid_from=row.valid_from,
        valid_to=row.valid_to,
        created_at=row.created_at,
        superseded_at=row.superseded_at,
        cleared_at=row.cleared_at,
    )
