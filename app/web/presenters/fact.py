"""A fact of the memory: what it says, how far it reaches, when it holds, and what it rests on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from app.web.presenters.values import given, moment
from core.database import Scope
from memory import facts, scopes
from memory.facts import Evidence, Fact, Version
from memory.receipts import Receipt


def fact_by_id(scope: Scope, fact_id: str, person_id: str) -> dict[str, Any]:
    """Raises NotFoundError, also for what is another person's."""
    return fact_shapes(scope, [facts.get(scope, fact_id, person_id)])[0]


def fact_shapes(scope: Scope, found: Sequence[Fact]) -> list[dict[str, Any]]:
    return [_shape(fact, versions, proofs) for fact, versions, proofs in facts.in_full(scope, found)]


def receipt_shape(receipt: Receipt) -> dict[str, Any]:
    return {
        "card_id": receipt.card_id,
        "state": receipt.state,
        "fact_ids": list(receipt.fact_ids),
        "counts": dict(receipt.counts),
        "checked": dict(receipt.checked) if receipt.checked is not None else None,
        "requested_at": moment(receipt.requested_at),
        "done_at": moment(receipt.done_at),
    }


def _shape(fact: Fact, versions: Sequence[Version], proofs: Sequence[Evidence]) -> dict[str, Any]:
    current = fact.current
    return {
        "id": fact.id,
        "text": fact.text if fact.known else None,
        "state": "known" if fact.known else "forgotten",
        "scope": scopes.shown(fact.scope),
        "standing": current.standing,
        "version": current.n,
        "validity": {"from": moment(current.valid_from), "to": moment(current.valid_to)},
        "versions": [_version(fact, one) for one in versions],
        "evidence": [_proof(one) for one in proofs],
        "created_at": moment(fact.created_at),
        "updated_at": moment(fact.updated_at),
        **given({"forgotten_at": moment(fact.forgotten_at)}),
    }


def _version(fact: Fact, version: Version) -> dict[str, Any]:
    return {
        "version": version.n,
        "text": version.text if fact.known else None,
        "standing": version.standing,
        "validity": {"from": moment(version.valid_from), "to": moment(version.valid_to)},
        "created_at": moment(version.created_at),
        "superseded_at": moment(version.superseded_at),
        **given({"cleared_at": moment(version.cleared_at)}),
    }


def _proof(proof: Evidence) -> dict[str, Any]:
    source = {"message_id": proof.source_id} if proof.kind == "message" else {}
    return {
        "version": proof.n,
        "role": proof.role,
        "kind": proof.kind,
        "eligible": proof.eligible,
        "at": moment(proof.created_at),
        **source,
    }
