"""Corrections of facts by people; the agent may only propose one on a card."""

from __future__ import annotations

import base64

from core.database import Scope
from core.errors import ConflictError, RefusedError
from core.search.vectors import Vector
from memory import facts, scopes, suppressions, writing
from memory.facts import MemoryFact
from memory.fingerprint import fingerprint
from memory.writing import FactSource, FactStatement
from runtime.cards import cards
from runtime.cards.answers import deliver_card_answer
from runtime.cards.cards import Card
from runtime.statuses import CardKind

CORRECT_ACT = "correct_fact"
CORRECTED, KEEP = "corrected", "keep"


def correct_fact(scope: Scope, fact_id: str, text: str, vector: Vector, person_id: str, cause: str) -> MemoryFact:
    """Change the text of a fact, once per `cause`. `vector` is the text's, made before the transaction.

    Raises NotFoundError when this person has no such fact, ConflictError when another fact says the same already.
    """
    facts.get_fact(scope, fact_id, person_id)
    fact = writing.lock_fact(scope, fact_id)
    sources = [FactSource("correction", cause)]
    done = any((one.kind, one.source_id) == ("correction", cause) for one in facts.evidence_of(scope, fact_id))
    if done or fact.text == text:
        return fact
    other = facts.fact_of_words(scope, fact.scope, fingerprint(scope.workspace_id, fact.scope, text))
    if other is not None and other.id != fact.id:
        raise ConflictError(f"{other.id} says that already: forget this one instead", fact_id=other.id)
    suppressions.lift_suppression(scope, fact.scope, text)
    said = FactStatement(text, vector, "stated", scope.now)
    writing.add_version(scope, fact, role="origin", said=said, sources=sources, ends_the_old=True)
    return facts.get_fact(scope, fact_id, person_id)


def propose_correction(
    scope: Scope,
    fact: MemoryFact,
    text: str,
    vector: Vector,
    *,
    cause: str,
    task_id: str | None = None,
    turn_id: str | None = None,
) -> Card:
    """Open the card on which a person chooses between the two wordings."""
    return cards.open_card(
        scope,
        kind=CardKind.CHOICE,
        title="Which is right?",
        body=f"Remembered is “{fact.text}”; proposed is “{text}”.",
        options=({"id": CORRECTED, "label": text}, {"id": KEEP, "label": fact.text}),
        cause=cause,
        task_id=task_id,
        turn_id=turn_id,
        subject={
            "act": CORRECT_ACT,
            "fact_id": fact.id,
            "version": fact.current.n,
            "text": text,
            "scope": scopes.scope_label(fact.scope),
            "model": vector.model,
            "vector": base64.b64encode(vector.data).decode(),
        },
    )


def answer_correction_card(scope: Scope, card: Card) -> None:
    """Store the proposed words if a person chose them, then deliver the answer.

    Raises RefusedError when a program chose them, ConflictError when the fact has changed since the question. The card
    then stays open.
    """
    if card.answer_option == CORRECTED:
        _correct(scope, card)
    deliver_card_answer(scope, card)


def _correct(scope: Scope, card: Card) -> None:
    if card.answered_as != "person":
        raise RefusedError("a program's key may not say what a person means: it takes a person")
    subject, person_id = card.subject, str(card.answered_by)
    fact = facts.get_fact(scope, str(subject["fact_id"]), person_id)
    if not fact.known or fact.current.n != subject["version"]:
        raise ConflictError("what was remembered has changed since the question was asked: keep it, or ask again")
    vector = Vector(str(subject["model"]), base64.b64decode(str(subject["vector"])))
    correct_fact(scope, fact.id, str(subject["text"]), vector, person_id, f"card:{card.id}")
