"""The shapes of a remembered fact, with its versions and evidence, and of the receipt for forgetting one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NotRequired

from typing_extensions import TypedDict

from app.web.presenters.values import Moment, moment, without_nulls
from core.database import Scope
from memory import facts, scopes
from memory.facts import Evidence, MemoryFact, RememberedVersion
from memory.receipts import Receipt

Validity = TypedDict("Validity", {"from": Moment | None, "to": Moment | None})
"""When it is true; null where no time is known."""


class Cleared(TypedDict, total=False):
    cleared_at: Moment | None


class FactVersion(Cleared):
    version: int
    text: str | None
    standing: str
    validity: Validity
    created_at: Moment
    superseded_at: Moment | None


class FactEvidence(TypedDict):
    """`message_id` is present if the source is a message."""

    version: int
    role: str
    kind: str
    eligible: bool
    at: Moment
    message_id: NotRequired[str]


class Forgotten(TypedDict, total=False):
    forgotten_at: Moment | None


class FactShape(Forgotten):
    """`text` is null once it is forgotten."""

    id: str
    text: str | None
    state: str
    scope: str
    standing: str
    version: int
    validity: Validity
    versions: list[FactVersion]
    evidence: list[FactEvidence]
    created_at: Moment
    updated_at: Moment


class ReceiptShape(TypedDict):
    """`checked` is null until the search index was checked."""

    card_id: str
    state: str
    fact_ids: list[str]
    counts: dict[str, int]
    checked: dict[str, Any] | None
    requested_at: Moment
    done_at: Moment | None


def fact_by_id(scope: Scope, fact_id: str, person_id: str) -> FactShape:
    """Return a fact's shape. Raise NotFoundError, also for another person's fact."""
    return fact_shapes(scope, [facts.get_fact(scope, fact_id, person_id)])[0]


def fact_shapes(scope: Scope, found: Sequence[MemoryFact]) -> list[FactShape]:
    return [_shape(fact, versions, proofs) for fact, versions, proofs in facts.facts_in_full(scope, found)]


def receipt_shape(receipt: Receipt) -> ReceiptShape:
    return {
        "card_id": receipt.card_id,
        "state": receipt.state,
        "fact_ids": list(receipt.fact_ids),
        "counts": dict(receipt.counts),
        "checked": dict(receipt.checked) if receipt.checked is not None else None,
        "requested_at": moment(receipt.requested_at),
        "done_at": moment(receipt.done_at),
    }


def _shape(fact: MemoryFact, versions: Sequence[RememberedVersion], proofs: Sequence[Evidence]) -> FactShape:
    current = fact.current
    return {
        "id": fact.id,
        "text": fact.text if fact.known else None,
        "state": "known" if fact.known else "forgotten",
        "scope": scopes.scope_label(fact.scope),
        "standing": current.standing,
        "version": current.n,
        "validity": {"from": moment(current.valid_from), "to": moment(current.valid_to)},
        "versions": [_version(fact, one) for one in versions],
        "evidence": [_proof(one) for one in proofs],
        "created_at": moment(fact.created_at),
        "updated_at": moment(fact.updated_at),
        **without_nulls(Forgotten(forgotten_at=moment(fact.forgotten_at))),
    }


def _version(fact: MemoryFact, version: RememberedVersion) -> FactVersion:
    return {
        "version": version.n,
        "text": version.text if fact.known else None,
        "standing": version.standing,
        "validity": {"from": moment(version.valid_from), "to": moment(version.valid_to)},
        "created_at": moment(version.created_at),
        "superseded_at": moment(version.superseded_at),
        **without_nulls(Cleared(cleared_at=moment(version.cleared_at))),
    }


def _proof(proof: Evidence) -> FactEvidence:
    shape: FactEvidence = {
        "version": proof.n,
        "role": proof.role,
        "kind": proof.kind,
        "eligible": proof.eligible,
        "at": moment(proof.created_at),
    }
    if proof.kind == "message":
        shape["message_id"] = proof.source_id
    return shape
