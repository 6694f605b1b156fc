"""Reach of a forget: the messages behind the facts, and other facts made from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from core.database import Scope
from memory import facts
from memory.facts import Evidence, RememberedVersion
from memory.tables import evidence


@dataclass(frozen=True)
class Affected:
    """Reach of a forget: `messages` stop being sources; `others` are the versions, by fact, that rest on them."""

    messages: tuple[str, ...]
    others: Mapping[str, frozenset[int]]


def affected_by(scope: Scope, fact_ids: Sequence[str]) -> Affected:
    """Find the messages behind these facts, and the other facts made from them.

    A fact that these messages only confirm is not affected.
    """
    source_ids: dict[str, None] = {}
    for fact_id in fact_ids:
        source_ids |= {one.source_id: None for one in facts.evidence_of(scope, fact_id) if one.kind == "message"}
    touched: dict[str, frozenset[int]] = {}
    for other in _facts_resting_on(scope, list(source_ids)):
        if other not in fact_ids:
            proofs = facts.evidence_of(scope, other)
            touched[other] = derived_versions(facts.versions_of(scope, other), proofs, frozenset(source_ids))
    return Affected(tuple(source_ids), touched)


def derived_versions(
    versions: Sequence[RememberedVersion], proofs: Sequence[Evidence], revoked: frozenset[str]
) -> frozenset[int]:
    """Return the versions that rest on a revoked message, directly or through the version that they refine. Pure."""
    gone: set[int] = set()
    current_n: int | None = None
    for version in sorted(versions, key=lambda one: one.n):
        mine = [one for one in proofs if one.n == version.n]
        rests = any(one.source_id in revoked and one.role != "confirm" and one.kind == "message" for one in mine)
        refines = any(one.role == "refine" for one in mine)
        if rests or (refines and current_n in gone):
            gone.add(version.n)
        if version.superseded_at != version.created_at:
            # A version from `add_old_version` is superseded at once: it was never current, and none refines it.
            current_n = version.n
    return frozenset(gone)


def _facts_resting_on(scope: Scope, message_ids: Sequence[str]) -> list[str]:
    """Return the facts with a version that was made from one of these messages, and not only confirmed by it."""
    if not message_ids:
        return []
    query = scope.select(evidence.c.fact_id).where(
        evidence.c.kind == "message", evidence.c.source_id.in_(list(message_ids)), evidence.c.role != "confirm"
    )
    return sorted({row.fact_id for row in scope.rows(query)})
