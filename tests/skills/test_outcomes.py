"""Facts about what skills did, as people's answers give them."""

from __future__ import annotations

import pytest

from core.database import Scope
from core.errors import ConflictError, InvalidError
from runtime.cards import cards
from runtime.cards.answers import CardAnswers, answer_card
from runtime.cards.cards import Card
from runtime.statuses import CardKind
from skills.book import outcomes
from skills.card_answers import SKILL_CARD_ANSWERS
from tests.support.databases import Store


def test_an_answer_becomes_one_fact_of_its_run(store: Store) -> None:
    def ask(scope: Scope) -> Card:
        facts = {"skill_id": "watch", "version_id": "sv_1", "run_id": "run", "text": "slow?", "cause": "c"}
        return outcomes.open_question_card(scope, answers=("yes", "no"), **facts)

    with store.database.transaction(store.workspace_id) as scope:
        card, again = ask(scope), ask(scope)
        answer_card(scope, card.id, "no", "it was fine", store.person_id, CardAnswers(SKILL_CARD_ANSWERS))
        with pytest.raises(ConflictError):
            answer_card(scope, card.id, "yes", None, store.person_id, CardAnswers(SKILL_CARD_ANSWERS))
        (fact,) = outcomes.list_outcomes(scope, "watch")

    assert again.id == card.id
    assert (card.title, card.body) == ("watch asks", "slow?")
    assert (fact.run_id, fact.kind, fact.value, fact.by) == ("run", outcomes.ANSWER_KIND, "no", store.person_id)
    assert fact.facts == {"card_id": card.id, "version_id": "sv_1", "text": "it was fine"}


def test_a_choice_of_a_task_is_no_fact(store: Store) -> None:
    with store.database.transaction(store.workspace_id) as scope:
        options = [{"id": "a", "label": "A"}]
        card = cards.open_card(scope, kind=CardKind.CHOICE, title="t", body="b", options=options, cause="c")
        answer_card(scope, card.id, "a", None, store.person_id, CardAnswers(SKILL_CARD_ANSWERS))

        assert outcomes.list_outcomes(scope, "watch") == []


def test_a_cause_is_one_fact_and_a_value_is_short(store: Store) -> None:
    def record(value: str, cause: str) -> bool:
        with store.database.transaction(store.workspace_id) as scope:
            return outcomes.record_outcome(
                scope, skill_id="watch", run_id=None, kind="feedback", value=value, by=None, cause=cause, facts={}
            )

    assert [record("good", "a"), record("good", "a"), record("bad", "b")] == [True, False, True]
    with pytest.raises(InvalidError, match="1 to 32 characters"):
        record("x" * 33, "c")
