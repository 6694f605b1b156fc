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
    mine = [row for row in asked if _facts_on_card(row.subject) & set(fact_ids)]
    for row in mine:
        scope.change(
            scope.update(cards)
            .where(cards.c.id == row.id)
            .values(
                title="Forgotten",
                body=_BODY,
                options=[_redact_option(row.kind, option) for option in row.options],
                subject={name: value for name, value in row.subject.items() if name not in ("text", "vector")},
                state=CardState.VOID if row.state == CardState.OPEN else row.state,
            )
        )
        scope.changed("card", row.id)
    return len(mine)


def _facts_on_card(subject: Mapping[str, Any]) -> set[str]:
    return set(subject.get("facts", {})) | {str(subject.get("fact_id", ""))}


def _redact_option(kind: str, option: Mapping[str, Any]) -> dict[str, Any]:
    return dict(option) if kind == CardKind.IRREVERSIBLE else {**option, "label": "…"}


@dataclass(frozen=True)
class _Plan:
    """What is cleared: `targets` whole, and of the facts in `reach` the versions that rest on the same messages.

    `falls_back` holds the facts in `reach` whose current version goes, each with the version to restore, if any.
    """

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
        plan = _make_plan(scope, receipt)
    vectors = _embed_fallbacks(dependencies, plan)
    with dependencies.database.transaction(workspace_id, "memory.forgotten") as scope:
        receipt = receipts.lock_receipt(scope, card_id)
        if receipt.state == "requested":
            receipts.record_cleared(scope, card_id, _clear_plan(scope, receipt, _make_plan(scope, receipt), vectors))
        return receipts.get_receipt(scope, card_id).state


def _make_plan(scope: Scope, receipt: Receipt) -> _Plan:
    targets = facts.facts_by_ids(scope, receipt.fact_ids)
    reach = affected_by(scope, receipt.fact_ids)
    others = facts.facts_by_ids(scope, list(reach.others))
    falls_back = {
        fact.id: _find_fallback(scope, fact, reach.others[fact.id])
        for fact in others.values()
        if fact.known and fact.current.n in reach.others[fact.id]
    }
    return _Plan(targets, reach, falls_back)


def _find_fallback(scope: Scope, fact: MemoryFact, gone: frozenset[int]) -> RememberedVersion | None:
    """Return the newest version of a fact that was current once and is not in `gone`."""
    every = facts.versions_of(scope, fact.id)
    once_current = [one for one in every if one.text is not None and one.superseded_at != one.created_at]
    return next((one for one in once_current if one.n not in gone), None)


def _embed_fallbacks(dependencies: MemoryDependencies, plan: _Plan) -> dict[str, Vector]:
    texts = [version.text for version in plan.falls_back.values() if version is not None and version.text]
    return dict(zip(texts, dependencies.search.embedder.embed(texts), strict=True)) if texts else {}


def _clear_plan(scope: Scope, receipt: Receipt, plan: _Plan, vectors: Mapping[str, Vector]) -> dict[str, int]:
    suppressed = sum(_suppress_texts(scope, fact, receipt.card_id) for fact in plan.targets.values())
    revoked = _revoke_evidence(scope, list(plan.targets), plan.reach.messages)
    restored, messages_due = 0, 0
    for fact_id, version in plan.falls_back.items():
        fact = facts.facts_by_ids(scope, [fact_id])[fact_id]
        if version is not None:
            _restore_version(scope, fact, version, vectors)
            restored += 1
        else:
            hide_fact(scope, fact)
            messages_due += _read_sources_again(scope, fact, receipt.card_id)
    cleared = sum(_clear_versions(scope, fact_id, None) for fact_id in plan.targets)
    cleared += sum(_clear_versions(scope, fact_id, gone) for fact_id, gone in plan.reach.others.items())
    return {
        "facts": len(plan.targets),
        "versions": cleared,
        "vectors": len(plan.targets) + len(plan.falls_back),
        "messages": readings.revoke_messages(scope, plan.reach.messages),
        "evidence": revoked,
        "rebuilt": restored,
        "read_again": messages_due,
        "suppressed": suppressed,
        "recalls": recall_records.clear_recalled(scope, [*plan.targets, *plan.falls_back]),
        "cards": redact_cards(scope, list(plan.targets)),
        "candidates": candidates.clear_candidate_words(scope, list(plan.targets), plan.reach.messages),
    }


def _suppress_texts(scope: Scope, fact: MemoryFact, card_id: str) -> int:
    texts = {version.text for version in facts.versions_of(scope, fact.id) if version.text}
    return sum(suppress_statement(scope, fact.scope, text, card_id) for text in sorted(texts))


def _revoke_evidence(scope: Scope, fact_ids: Sequence[str], message_ids: Sequence[str]) -> int:
    """End the use of all evidence of these facts, and of evidence from these messages for any fact."""
    mine = evidence.c.fact_id.in_(list(fact_ids))
    same = sa.and_(evidence.c.kind == "message", evidence.c.source_id.in_(list(message_ids)))
    query = scope.update(evidence).where(sa.or_(mine, same), evidence.c.eligible.is_(True))
    return scope.change(query.values(eligible=False))


def _restore_version(scope: Scope, fact: MemoryFact, version: RememberedVersion, vectors: Mapping[str, Vector]) -> None:
    """Restore an older version as a new one, with its evidence."""
    vector = vectors.get(version.text or "")
    # The plan was made again under the lock, and may restore another text than the one that was embedded.
    if vector is None:
        raise UnavailableError("a fact has changed while it was being forgotten: once more")
    said = writing.FactStatement(version.text or "", vector, version.standing, version.valid_from)
    proofs = [one for one in facts.evidence_of(scope, fact.id) if one.eligible and one.n <= version.n]
    sources = [FactSource(one.kind, one.source_id) for one in proofs if one.role != "confirm"]
    writing.add_version(scope, fact, role="origin", said=said, sources=sources, ends_the_old=False)


def _read_sources_again(scope: Scope, fact: MemoryFact, card_id: str) -> int:
    """Let the remaining sources of a fact without a version be read again, without what is forgotten."""
    rest = [one.source_id for one in facts.evidence_of(scope, fact.id) if one.kind == "message" and one.eligible]
    return readings.read_again(scope, list(dict.fromkeys(rest)), card_id) if rest else 0


def _clear_versions(scope: Scope, fact_id: str, which: frozenset[int] | None) -> int:
    """Clear the texts of these versions, or with None of all versions, and return how many there were."""
    mine = scope.update(fact_versions).where(fact_versions.c.fact_id == fact_id, fact_versions.c.text.is_not(None))
    if which is not None:
        mine = mine.where(fact_versions.c.n.in_(sorted(which)))
    return scope.change(mine.values(text=None, cleared_at=scope.now))
