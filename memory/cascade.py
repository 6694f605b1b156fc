"""Cascade of a forget: clear the facts and what rests on them, and keep what other sources support."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from core.database import Scope
from core.errors import UnavailableError
from core.search.vectors import Vector
from memory import candidates, correcting, facts, forgetting, readings, recall_records, receipts, writing
from memory.affected import Affected, affected_by
from memory.dependencies import MemoryDependencies
from memory.facts import MemoryFact, RememberedVersion
from memory.forgetting import hide_fact
from memory.receipts import Receipt
from memory.suppressions import suppress_statement
from memory.tables import evidence, fact_versions
from memory.writing import FactSource
from runtime.statuses import CardKind, CardState
from runtime.tables import cards

_BODY = "What this was about is forgotten; its words are kept nowhere in the memory."


def redact_cards(scope: Scope, fact_ids: Sequence[str]) -> int:
    """Remove the words from every card about these facts, close those that are open, and return how many there were."""
    acts = cards.c.subject["act"].as_string().in_((forgetting.FORGET_ACT, correcting.CORRECT_ACT))
    asked = scope.rows(scope.select(cards).where(cards.c.kind.in_((CardKind.IRREVERSIBLE, CardKind.CHOICE)), acts))
    mine = [row for row in asked if _facts_of(row.subject) & set(fact_ids)]
    for row in mine:
        scope.change(
            scope.update(cards)
            .where(cards.c.id == row.id)
            .values(
                title="Forgotten",
                body=_BODY,
                options=[_option(row.kind, option) for option in row.options],
                subject={name: value for name, value in row.subject.items() if name not in ("text", "vector")},
                state=CardState.VOID if row.state == CardState.OPEN else row.state,
            )
        )
        scope.changed("card", row.id)
    return len(mine)


def _facts_of(subject: Mapping[str, Any]) -> set[str]:
    return set(subject.get("facts", {})) | {str(subject.get("fact_id", ""))}


def _option(kind: str, option: Mapping[str, Any]) -> dict[str, Any]:
    return dict(option) if kind == CardKind.IRREVERSIBLE else {**option, "label": "…"}


@dataclass(frozen=True)
class _Plan:
    """What is cleared, and the version that each other fact falls back to, if one is left."""

    targets: Mapping[str, MemoryFact]
    reach: Affected
    falls_back: Mapping[str, RememberedVersion | None]


def clear_forgotten(dependencies: MemoryDependencies, workspace_id: str, card_id: str) -> str:
    """Clear once what a person confirmed on a card, and return the state of its receipt.

    Raises NotFoundError without a confirmed card: the bell alone authorises nothing.
    """
    with dependencies.database.reading(workspace_id) as scope:
        receipt = receipts.get_receipt(scope, card_id)
        if receipt.state != "requested":
            return receipt.state
        plan = _plan(scope, receipt)
    vectors = _vectors(dependencies, plan)
    with dependencies.database.transaction(workspace_id, "memory.forgotten") as scope:
        receipt = receipts.lock_receipt(scope, card_id)
        if receipt.state == "requested":
            receipts.record_cleared(scope, card_id, _clear(scope, receipt, _plan(scope, receipt), vectors))
        return receipts.get_receipt(scope, card_id).state


def _plan(scope: Scope, receipt: Receipt) -> _Plan:
    targets = facts.facts_by_ids(scope, receipt.fact_ids)
    reach = affected_by(scope, receipt.fact_ids)
    others = facts.facts_by_ids(scope, list(reach.others))
    falls_back = {
        fact.id: _left(scope, fact, reach.others[fact.id])
        for fact in others.values()
        if fact.known and fact.current.n in reach.others[fact.id]
    }
    return _Plan(targets, reach, falls_back)


def _left(scope: Scope, fact: MemoryFact, gone: frozenset[int]) -> RememberedVersion | None:
    """Return the newest version that was current once and needs no revoked source."""
    every = facts.versions_of(scope, fact.id)
    stood = [one for one in every if one.text is not None and one.superseded_at != one.created_at]
    return next((one for one in stood if one.n not in gone), None)


def _vectors(dependencies: MemoryDependencies, plan: _Plan) -> dict[str, Vector]:
    texts = [version.text for version in plan.falls_back.values() if version is not None and version.text]
    return dict(zip(texts, dependencies.search.embedder.embed(texts), strict=True)) if texts else {}


def _clear(scope: Scope, receipt: Receipt, plan: _Plan, vectors: Mapping[str, Vector]) -> dict[str, int]:
    suppressed = sum(_suppress(scope, fact, receipt.card_id) for fact in plan.targets.values())
    revoked = _revoke(scope, list(plan.targets), plan.reach.messages)
    rebuilt, again = 0, 0
    for fact_id, version in plan.falls_back.items():
        fact = facts.facts_by_ids(scope, [fact_id])[fact_id]
        if version is not None:
            _fall_back(scope, fact, version, vectors)
            rebuilt += 1
        else:
            hide_fact(scope, fact)
            again += _read_rest(scope, fact, receipt.card_id)
    cleared = sum(_clear_versions(scope, fact_id, None) for fact_id in plan.targets)
    cleared += sum(_clear_versions(scope, fact_id, gone) for fact_id, gone in plan.reach.others.items())
    return {
        "facts": len(plan.targets),
        "versions": cleared,
        "vectors": len(plan.targets) + len(plan.falls_back),
        "messages": readings.revoke_messages(scope, plan.reach.messages),
        "evidence": revoked,
        "rebuilt": rebuilt,
        "read_again": again,
        "suppressed": suppressed,
        "recalls": recall_records.clear_recalled(scope, [*plan.targets, *plan.falls_back]),
        "cards": redact_cards(scope, list(plan.targets)),
        "candidates": candidates.clear_candidate_words(scope, list(plan.targets), plan.reach.messages),
    }


def _suppress(scope: Scope, fact: MemoryFact, card_id: str) -> int:
    texts = {version.text for version in facts.versions_of(scope, fact.id) if version.text}
    return sum(suppress_statement(scope, fact.scope, text, card_id) for text in sorted(texts))


def _revoke(scope: Scope, fact_ids: Sequence[str], message_ids: Sequence[str]) -> int:
    mine = evidence.c.fact_id.in_(list(fact_ids))
    same = sa.and_(evidence.c.kind == "message", evidence.c.source_id.in_(list(message_ids)))
    query = scope.update(evidence).where(sa.or_(mine, same), evidence.c.eligible.is_(True))
    return scope.change(query.values(eligible=False))


def _fall_back(scope: Scope, fact: MemoryFact, version: RememberedVersion, vectors: Mapping[str, Vector]) -> None:
    """Restore an older version as a new one, with its evidence."""
    vector = vectors.get(version.text or "")
    if vector is None:
        raise UnavailableError("a fact has changed while it was being forgotten: once more")
    said = writing.FactStatement(version.text or "", vector, version.standing, version.valid_from)
    proofs = [one for one in facts.evidence_of(scope, fact.id) if one.eligible and one.n <= version.n]
    sources = [FactSource(one.kind, one.source_id) for one in proofs if one.role != "confirm"]
    writing.add_version(scope, fact, role="origin", said=said, sources=sources, ends_the_old=False)


def _read_rest(scope: Scope, fact: MemoryFact, card_id: str) -> int:
    """Let the remaining sources of a fact without a version be read again, without what is forgotten."""
    rest = [one.source_id for one in facts.evidence_of(scope, fact.id) if one.kind == "message" and one.eligible]
    return readings.read_again(scope, list(dict.fromkeys(rest)), card_id) if rest else 0


def _clear_versions(scope: Scope, fact_id: str, which: frozenset[int] | None) -> int:
    mine = scope.update(fact_versions).where(fact_versions.c.fact_id == fact_id, fact_versions.c.text.is_not(None))
    if which is not None:
        mine = mine.where(fact_versions.c.n.in_(sorted(which)))
    return scope.change(mine.values(text=None, cleared_at=scope.now))
