"""Second half of remembering: judge each stored candidate and write what the decision table says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, assert_never

import sqlalchemy as sa

from core.database import Scope
from core.errors import InvalidError, NotFoundError
from core.search.vectors import Vector
from memory import candidates, facts, readings, scopes, writing
from memory.deciding import (
    CandidateClaim,
    Confirm,
    Known,
    Late,
    New,
    Refine,
    Refuse,
    Replace,
    SetAside,
    Verdict,
    judge_claim,
)
from memory.dependencies import MemoryDependencies
from memory.facts import MemoryFact
from memory.fingerprint import fingerprint
from memory.suppressions import is_suppressed
from memory.verdict import CandidateSaid, began_to_hold
from memory.writing import FactSource, FactStatement
from runtime.inbox import messages
from runtime.inbox.messages import Message

_PENDING = "pending"


@dataclass(frozen=True)
class _ReadCandidate:
    """A candidate with all that is needed to judge it: its evidence, its scope and the fact that it is about."""

    row: sa.Row[Any]
    said: CandidateSaid
    statement: FactStatement
    sources: Sequence[FactSource]
    within: str
    fact: MemoryFact | None
    same_words: bool

    @property
    def known_fact(self) -> MemoryFact:
        """Return the fact that the verdict names; raises NotFoundError when there is none."""
        if self.fact is None:
            raise NotFoundError("the table spoke of a fact that it was not shown")
        return self.fact


def judge_candidate(dependencies: MemoryDependencies, workspace_id: str, candidate_id: str) -> str:
    """Judge one candidate once, and return what became of it."""
    with dependencies.database.reading(workspace_id) as scope:
        row = candidates.get_candidate(scope, candidate_id)
    if row.state != _PENDING:
        return f"{row.state} {row.action or row.reason}"
    # `evidence` is stored apart from the words, as ids of messages and not as the model's numbers.
    said = CandidateSaid.model_validate({**row.body, "evidence": []})
    [vector] = dependencies.search.embedder.embed([said.text])
    with dependencies.database.transaction(workspace_id, "memory.kept") as scope:
        row = candidates.lock_candidate(scope, candidate_id)
        if row.state != _PENDING:
            return f"{row.state} {row.action or row.reason}"
        return _judge(scope, row, said, vector)


def _judge(scope: Scope, row: sa.Row[Any], said: CandidateSaid, vector: Vector) -> str:
    try:
        candidate = _read_candidate(scope, row, said, vector)
    except (InvalidError, NotFoundError) as error:
        return candidates.record_judgement(scope, row.id, "refused", "", reason=str(error))
    claim = CandidateClaim(
        text=said.text,
        standing=said.standing,
        temporary=said.temporary,
        relation=said.relation,
        valid_from=candidate.statement.valid_from,
        evidence=tuple(one.id for one in candidate.sources),
    )
    known = _build_known(candidate)
    return _apply_verdict(
        scope, candidate, judge_claim(claim, known, suppressed=is_suppressed(scope, candidate.within, said.text))
    )


def _read_candidate(scope: Scope, row: sa.Row[Any], said: CandidateSaid, vector: Vector) -> _ReadCandidate:
    """Read what is needed to judge a candidate.

    Raises NotFoundError when the fact that it names is forgotten, InvalidError for the scope of a task without a task.
    """
    evidence_messages = messages.list_messages_by_ids(scope, readings.eligible_messages(scope, row.evidence))
    about = writing.lock_fact(scope, row.about) if row.about is not None else None
    within = about.scope if about is not None else _scope_for(said, row.person_id, evidence_messages)
    same = facts.fact_of_words(scope, within, fingerprint(scope.workspace_id, within, said.text))
    at = began_to_hold(said.valid_from, evidence_messages[0].created_at if evidence_messages else scope.now)
    return _ReadCandidate(
        row=row,
        said=said,
        statement=FactStatement(said.text, vector, said.standing, at),
        sources=[FactSource("message", one.id) for one in evidence_messages],
        within=within,
        # A fact in the same words is what the candidate is about, even if the model named another one.
        fact=same or about,
        same_words=same is not None,
    )


def _apply_verdict(scope: Scope, candidate: _ReadCandidate, verdict: Verdict) -> str:
    row, said, sources = candidate.row, candidate.statement, candidate.sources
    match verdict:
        case Refuse(reason):
            return candidates.record_judgement(scope, row.id, "refused", "", reason=reason)
        case SetAside(fact_id, reason):
            return candidates.record_judgement(
                scope, row.id, "refused", "aside", fact_id=fact_id, reason=reason, body=row.body
            )
        case New():
            return _create_fact(scope, candidate)
        case Confirm(fact_id):
            action, n = "confirm", writing.confirm_fact(scope, candidate.known_fact, sources)
        case Refine(fact_id):
            action = "refine"
            n = writing.add_version(
                scope, candidate.known_fact, role="refine", said=said, sources=sources, ends_the_old=False
            )
        case Replace(fact_id):
            action = "replace"
            n = writing.add_version(
                scope, candidate.known_fact, role="origin", said=said, sources=sources, ends_the_old=True
            )
        case Late(fact_id):
            action, n = "late", writing.add_old_version(scope, candidate.known_fact, said=said, sources=sources)
        case _:
            assert_never(verdict)
    return candidates.record_judgement(scope, row.id, "kept", action, fact_id=fact_id, n=n)


def _create_fact(scope: Scope, candidate: _ReadCandidate) -> str:
    row = candidate.row
    made = writing.create_fact(
        scope, within=candidate.within, person_id=row.person_id, said=candidate.statement, sources=candidate.sources
    )
    if made is not None:
        return candidates.record_judgement(scope, row.id, "kept", "new", fact_id=made.id, n=1)
    # Another execution has just stored a fact with the same words.
    words = fingerprint(scope.workspace_id, candidate.within, candidate.statement.text)
    other = facts.fact_of_words(scope, candidate.within, words)
    if other is None:
        raise NotFoundError("a fact of the same words came and went: once more")
    n = writing.confirm_fact(scope, other, candidate.sources)
    return candidates.record_judgement(scope, row.id, "kept", "confirm", fact_id=other.id, n=n)


def _scope_for(said: CandidateSaid, person_id: str, evidence_messages: Sequence[Message]) -> str:
    return scopes.scope_named(said.scope, person_id, evidence_messages[0].task_id if evidence_messages else None)


def _build_known(candidate: _ReadCandidate) -> Known | None:
    if candidate.fact is None:
        return None
    current = candidate.fact.current
    return Known(candidate.fact.id, current.standing, current.valid_from, same_words=candidate.same_words)
