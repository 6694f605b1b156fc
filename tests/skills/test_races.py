"""Two transactions at once on one skill: nobody waits in a circle."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from core.errors import ConflictError
from runtime import cards
from runtime.cards import Card
from skills import book, grants, promotion
from tests.skills.saved import saved
from tests.support.databases import Store

PATIENCE = 20.0


def test_a_save_and_the_answer_to_the_card_of_the_one_before(store: Store) -> None:
    # Given a version that waits for its card
    with store.database.transaction(store.workspace_id) as scope:
        first = saved(scope, "x", "1", spend=True)
        promotion.wait(scope, "x", first, ("spend",))
        [card] = cards.open_cards(scope)

    def grant() -> Card:
        with store.database.transaction(store.workspace_id) as scope:
            return cards.answer(
                scope, card.id, "grant", None, store.person_id, {"permission": grants.answer_permission}
            )

    # When a person answers it while a newer save is on its way in
    with ThreadPoolExecutor(1) as pool:
        with store.database.transaction(store.workspace_id) as scope:
            promotion.locked(scope, "x")
            answer = pool.submit(grant)
            threading.Event().wait(0.5)
            second = saved(scope, "x", "2")
        # Then the answer is told that its question is no longer asked
        with pytest.raises(ConflictError, match="superseded"):
            answer.result(PATIENCE)
    with store.database.reading(store.workspace_id) as scope:
        assert book.get(scope, "x").candidate_id == second.id
        assert grants.granted(scope, "x") == frozenset()
