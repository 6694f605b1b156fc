"""Outcomes: facts about the results of a skill's runs, and the cards that ask people for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa

from core.database import Scope
from core.errors import InvalidError
from runtime.cards import cards
from runtime.cards.answers import deliver_card_answer
from runtime.cards.cards import Card
from runtime.statuses import CardKind
from skills.tables import skill_outcomes

ANSWER_KIND = "answer"
"""The kind of an outcome that a person gave by answering the question in a notice."""
LONGEST_VALUE = 32
QUESTION_LIFETIME = timedelta(days=7)
"""How long a question stays open, so that a skill that alarms often does not pile up cards."""


@dataclass(frozen=True)
class SkillOutcome:
    """One fact: its `kind`, its `value`, and `by`, the id of the person who gave it."""

    id: str
    skill_id: str
    run_id: str | None
    kind: str
    value: str
    by: str | None
    cause: str
    facts: Mapping[str, Any]
    at: datetime


def record_outcome(
    scope: Scope,
    *,
    skill_id: str,
    run_id: str | None,
    kind: str,
    value: str,
    by: str | None,
    cause: str,
    facts: Mapping[str, Any],
) -> bool:
    """Store a fact once per `cause`; return False if it was stored before. Raises InvalidError for a bad value."""
    if not value or len(value) > LONGEST_VALUE:
        raise InvalidError(f"an outcome's value has 1 to {LONGEST_VALUE} characters, not {len(value)}")
    added = scope.insert_new(
        skill_outcomes,
        id=scope.ids.new("outcome"),
        skill_id=skill_id,
        run_id=run_id,
        kind=kind,
        value=value,
        by=by,
        cause=cause,
        facts=dict(facts),
        at=scope.now,
    )
    if added:
        scope.changed("skill", skill_id)
    return added


def list_outcomes(scope: Scope, skill_id: str, since: datetime | None = None, limit: int = 500) -> list[SkillOutcome]:
    """List the outcomes of a skill, newest first."""
    query = scope.select(skill_outcomes).where(skill_outcomes.c.skill_id == skill_id)
    if since is not None:
        query = query.where(skill_outcomes.c.at >= since)
    newest = query.order_by(skill_outcomes.c.at.desc(), skill_outcomes.c.id.desc()).limit(limit)
    return [_outcome(row) for row in scope.rows(newest)]


def _outcome(row: sa.Row[Any]) -> SkillOutcome:
    fields = dict(row._mapping)
    fields.pop("workspace_id")
    return SkillOutcome(**fields)


def open_question_card(
    scope: Scope, *, skill_id: str, version_id: str, run_id: str, text: str, answers: tuple[str, ...], cause: str
) -> Card:
    """Ask people a question about a run, once per `cause`; the answer becomes an outcome of that run."""
    return cards.open_card(
        scope,
        kind=CardKind.CHOICE,
        title=f"{skill_id} asks",
        body=text,
        options=[{"id": answer, "label": answer} for answer in answers],
        cause=cause,
        subject={"skill_id": skill_id, "version_id": version_id, "run_id": run_id},
        expires_at=scope.now + QUESTION_LIFETIME,
    )


def answer_choice(scope: Scope, card: Card) -> None:
    """Handle an answered `choice` card: record the answer to a skill's question, deliver any other to its task."""
    if card.task_id is not None or "skill_id" not in card.subject:
        deliver_card_answer(scope, card)
        return
    record_outcome(
        scope,
        skill_id=str(card.subject["skill_id"]),
        run_id=card.subject.get("run_id"),
        kind=ANSWER_KIND,
        value=str(card.answer_option),
        by=card.answered_by,
        cause=f"card:{card.id}",
        facts={"card_id": card.id, "version_id": card.subject.get("version_id"), "text": card.answer_text},
    )
