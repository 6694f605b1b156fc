"""Decision table for candidates: a pure function of the candidate and the fact that it is about."""

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
    """A checked candidate. `evidence` are messages of the person that may still be used."""

    text: str
    standing: FactStanding
    temporary: bool
    relation: Relation
    valid_from: datetime
    evidence: tuple[str, ...]


@dataclass(frozen=True)
class Known:
    """The current fact that a candidate is about; `same_words` says that it has the candidate's fingerprint."""

    fact_id: str
    standing: FactStanding
    valid_from: datetime
    same_words: bool = False


@dataclass(frozen=True)
class New:
    """Store a new fact with its first version."""


@dataclass(frozen=True)
class Confirm:
    """Store one more piece of evidence for the same statement, and no new version."""

    fact_id: str


@dataclass(frozen=True)
class Refine:
    """Store a more detailed version in place of the current one."""

    fact_id: str


@dataclass(frozen=True)
class Replace:
    """Store a version for what has changed; the one before held until the new one began."""

    fact_id: str


@dataclass(frozen=True)
class Late:
    """Store an older version that ended when the current one began; the current one stays."""

    fact_id: str


@dataclass(frozen=True)
class SetAside:
    """Store only the candidate, because a guess does not change what a person said."""

    fact_id: str
    reason: str = "a person said otherwise, and this is only inferred"


@dataclass(frozen=True)
class Refuse:
    """Keep nothing of the candidate."""

    reason: str


Verdict = New | Confirm | Refine | Replace | Late | SetAside | Refuse


def judge_claim(claim: CandidateClaim, known: Known | None, *, suppressed: bool) -> Verdict:
    """Decide what becomes of a candidate: the first rule that fits decides, and refusals come first."""
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
    return _judge_about_known(claim, known)


def _judge_about_known(claim: CandidateClaim, known: Known) -> Verdict:
    """Decide about a candidate that is about a known fact."""
    if known.same_words or claim.relation == "same":
        return Confirm(known.fact_id)
    if claim.standing == "inferred" and known.standing == "stated":
        return SetAside(known.fact_id)
    if claim.relation == "refines":
        return Refine(known.fact_id)
    if claim.valid_from < known.valid_from:
        return Late(known.fact_id)
    return Replace(known.fact_id)
