"""The cards that asked about a fact: they show its words no longer once it is forgotten."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from core.database import Scope
from memory import correcting, forgetting
from runtime.tables import cards

_BODY = "What this was about is forgotten; its words are kept nowhere in the memory."


def redact(scope: Scope, fact_ids: Sequence[str]) -> int:
    """Take the words out of every card about these facts; one that is still open asks no more. Answers how many."""
    acts = cards.c.subject["act"].as_string().in_((forgetting.ACT, correcting.ACT))
    asked = scope.rows(scope.select(cards).where(cards.c.kind.in_(("irreversible", "choice")), acts))
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
                state="void" if row.state == "open" else row.state,
            )
        )
        scope.changed("card", row.id)
    return len(mine)


def _facts_of(subject: Mapping[str, Any]) -> set[str]:
    return set(subject.get("facts", {})) | {str(subject.get("fact_id", ""))}


def _option(kind: str, option: Mapping[str, Any]) -> dict[str, Any]:
    return dict(option) if kind == "irreversible" else {**option, "label": "…"}
