"""Decide what becomes of a candidate: a pure table over the candidate and the one fact it speaks of."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

Relation = Literal["new", "same", "refines", "contradicts"]
FactStanding = Literal["stated", "inferred"]

_TEMPORARY = re.compile(
    r"\b(this time|this once|just once|for now|only today|for today|just this|for th(is|ese|ose) \w+|cette fois|"
    r"pour (cette|ce|cet|ces) \w+|pour l'instant|diesmal|esta vez)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class CandidateClaim:
    """A candidate as it was checked: `evidence` are messages of the person that may still be used."""

    text: str
    standing: FactStanding
    temporary: bool
    relation: Relation
    valid_from: datetime
    evidence: tuple[str, ...]


@dataclass(frozen=True)
class Known:
    """The fact a candidate speaks of, as it stands; `same_words` says that it has the candidate's fingerprint."""

    fact_id: str
    standing: FactStanding
    valid_from: datetime
    same_words: bool = False


@dataclass(frozen=True)
class New:
    """Nothing is known of it: a fact with its first version."""


@dataclass(frozen=True)
class Confirm:
    """The same again: one more piece of evidence, no version."""

    fact_id: str


@dataclass(frozen=True)
class Refine:
    """More detail: a version that takes the place of the one before."""

    fact_id: str


@dataclass(frozen=True)
class Replace:
    """It is otherwise now: a version, and the one before it held until the new one began."""

    fact_id: str


@dataclass(frozen=True)
class Late:
    """Old news: a version that ended when the one that stands began; the one that stands goes on."""

    fact_id: str


@dataclass(frozen=True)
class SetAside:
    """Only a guess against what a person said: noted as a candidate, and nothing changes."""

    fact_id: str
    reason: str = "a person said otherwise, and this is only inferred"


@dataclass(frozen=True)
class Refuse:
    reason: str


Verdict = New | Confirm | Refine | Replace | Late | SetAside | Refuse


def judge_claim(claim: CandidateClaim, known: Known | None, *, suppressed: bool) -> Verdict:
    """The first line that fits decides; what is refused is refused whatever it speaks of."""
    if not claim.evidence:
        return Refuse("no message of the person supports it")
    if claim.temporary or _TEMPORARY.search(claim.text):
        return Refuse("it holds for this once only, and belongs to the task's brief")
    if suppressed:
        return Refuse("it was forgotten on the person's word")
    if known is None:
        return New()
    if claim.relation == "new" and not known.same_words:
        return New()
    return _beside(claim, known)


def _beside(claim: CandidateClaim, known: Known) -> Verdict:
    """What becomes of a candidate that speaks of what is known."""
    if known.same_words or claim.relation == "same":
        return Confirm(known.fact_id)
    if claim.standing == "inferred" and known.standing == "stated":
        return SetAside(known.fact_id)
    if claim.relation == "refines":
        return Refine(known.fact_id)
    if claim.valid_from < known.valid_from:
        return Late(known.fact_id)
    return Replace(known.fact_id)
