"""Requests to forget: a card shows from stored facts what will be lost, and a person confirms it."""

from __future__ import annotations

from collections.abc import Sequence

from core.database import Scope
from core.errors import ConflictError, InvalidError, NotFoundError
from core.events import Bell, ForgetRequested
from core.search import entries
from memory import facts, scopes
from memory.affected import affected_by
from memory.facts import ROOM, MemoryFact
from memory.tables import facts as fact_rows
from memory.tables import forgets
from runtime.cards import cards
from runtime.cards.answers import deliver_card_answer
from runtime.cards.cards import Card
from runtime.statuses import CardKind

FORGET_ACT = "forget"
MOST_AT_ONCE = 20
_SHOWN = 200


def ask_to_forget(
    scope: Scope,
    fact_ids: Sequence[str],
    person_id: str,
    *,
    cause: str,
    task_id: str | None = None,
    turn_id: str | None = None,
) -> Card:
    """Open a card that asks whether to forget these facts, once per `cause`; forgets nothing itself.

    Raises NotFoundError for a fact that this person cannot see or that is already forgotten.
    """
    wanted = list(dict.fromkeys(fact_ids))
    if not 0 < len(wanted) <= MOST_AT_ONCE:
        raise InvalidError(f"name 1 to {MOST_AT_ONCE} facts")
    asked = [_get_known_fact(scope, fact_id, person_id) for fact_id in wanted]
    return cards.open_card(
        scope,
        kind=CardKind.IRREVERSIBLE,
        title=f"Forget “{_shorten(asked[0])}”?" if len(asked) == 1 else f"Forget {len(asked)} facts?",
        body=_what_is_lost(scope, asked),
        options=cards.IRREVERSIBLE_OPTIONS,
        cause=cause,
        task_id=task_id,
        turn_id=turn_id,
        subject={"act": FORGET_ACT, "facts": {fact.id: fact.current.n for fact in asked}},
    )


def ask_to_forget_once(scope: Scope, fact_id: str, person_id: str) -> Card:
    """Return the open card that asks whether to forget only this fact; opens one if there is none."""
    fact = _get_known_fact(scope, fact_id, person_id)
    for card in cards.list_all_open_cards_of_kind(scope, CardKind.IRREVERSIBLE):
        if card.act == FORGET_ACT and card.subject["facts"] == {fact.id: fact.current.n}:
            return card
    return ask_to_forget(scope, [fact_id], person_id, cause=scope.ids.new("forget"))


def answer_forget_card(scope: Scope, card: Card) -> None:
    """Begin to forget what the card names if the answer is `confirm`, then deliver the answer.

    From this transaction on no recall returns it; the cascade clears it. Raises ConflictError, which leaves the card
    open, when a fact has changed since the question.
    """
    if card.answer_option == "confirm":
        _begin_forgetting(scope, card)
    deliver_card_answer(scope, card)


def _begin_forgetting(scope: Scope, card: Card) -> None:
    person_id = str(card.answered_by)
    for fact_id, n in card.subject["facts"].items():
        fact = _get_known_fact(scope, fact_id, person_id)
        if fact.current.n != n:
            raise ConflictError("what was remembered has changed since the question was asked: keep it, or ask again")
        hide_fact(scope, fact)
    added = scope.insert_new(
        forgets,
        card_id=card.id,
        person_id=person_id,
        fact_ids=list(card.subject["facts"]),
        state="requested",
        counts={},
        ring=0,
        rung_at=scope.now,
        requested_at=scope.now,
    )
    if added:
        scope.ring(Bell(ForgetRequested(workspace_id=scope.workspace_id, card_id=card.id), id=f"{card.id}:forget"))


def hide_fact(scope: Scope, fact: MemoryFact) -> None:
    """Hide a fact from lists and recalls."""
    scope.change(
        scope.update(fact_rows)
        .where(fact_rows.c.id == fact.id)
        .values(forgotten_at=scope.now, updated_at=scope.now, fingerprint=None)
    )
    entries.remove_entry(scope, ROOM, fact.id)
    scope.changed("memory", fact.id)


def _get_known_fact(scope: Scope, fact_id: str, person_id: str) -> MemoryFact:
    fact = facts.get_fact(scope, fact_id, person_id)
    if not fact.known:
        raise NotFoundError(f"{fact_id} is forgotten already")
    return fact


def _what_is_lost(scope: Scope, asked: Sequence[MemoryFact]) -> str:
    found = affected_by(scope, [fact.id for fact in asked])
    lines = [f"- “{_shorten(fact)}” ({_whose(fact)}; {_version_count(scope, fact)})" for fact in asked]
    said = ["These will be gone, with all their versions, and will not be remembered again by themselves:", *lines]
    others = facts.facts_by_ids(scope, list(found.others))
    if others:
        said += [
            "",
            "These came from the same messages and fall back to what else supports them, or are gone too:",
            *(f"- “{_shorten(fact)}”" for fact in others.values()),
        ]
    if found.messages:
        said += [
            "",
            f"{_message_count(len(found.messages))} will not be used as a source again; the chat itself stays.",
        ]
    return "\n".join(said)


def _version_count(scope: Scope, fact: MemoryFact) -> str:
    n = len(facts.versions_of(scope, fact.id))
    return "one version" if n == 1 else f"{n} versions"


def _whose(fact: MemoryFact) -> str:
    match scopes.scope_label(fact.scope):
        case "person":
            return "about you"
        case "workspace":
            return "for the workspace"
        case _:
            return "for one task"


def _shorten(fact: MemoryFact) -> str:
    return fact.text if len(fact.text) <= _SHOWN else f"{fact.text[:_SHOWN]}…"


def _message_count(n: int) -> str:
    return "One message" if n == 1 else f"{n} messages"
