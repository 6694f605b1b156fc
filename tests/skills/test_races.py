"""Two transactions at once on one skill: nobody waits in a circle."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from core.errors import ConflictError
from runtime.cards import cards
from runtime.cards.answers import CardAnswers, answer_card
from runtime.cards.cards import Card
from runtime.commands import control
from skills.book import grants, skill, versions
from skills.card_answers import SKILL_CARD_ANSWERS
from skills.format.problem import SkillProblem
from skills.lifecycle import promotion
from tests.skills.saved_versions import save_version
from tests.skills.test_waiting_task import ANSWERS, the_card, waiting
from tests.support.databases import Store

PATIENCE = 20.0


def test_a_save_and_the_answer_to_the_card_of_the_one_before(store: Store) -> None:
    # Given a version that waits for its card
    with store.database.transaction(store.workspace_id) as scope:
        first = save_version(scope, "x", "1", spend=True)
        promotion.wait_for_permission(scope, "x", first, ("spend",))
        [card] = cards.list_open_cards(scope)

    def grant() -> Card:
        with store.database.transaction(store.workspace_id) as scope:
            return answer_card(scope, card.id, "grant", None, store.person_id, CardAnswers(SKILL_CARD_ANSWERS))

    # When a person answers it while a newer save is on its way in
    with ThreadPoolExecutor(1) as pool:
        with store.database.transaction(store.workspace_id) as scope:
            promotion.lock_with_candidate(scope, "x")
            answer = pool.submit(grant)
            threading.Event().wait(0.5)
            second = save_version(scope, "x", "2")
        # Then the answer is told that its question is no longer asked
        with pytest.raises(ConflictError, match="superseded"):
            answer.result(PATIENCE)
    with store.database.reading(store.workspace_id) as scope:
        assert skill.get_skill(scope, "x").candidate_id == second.id
        assert grants.granted_permissions(scope, "x") == frozenset()


@pytest.mark.parametrize("rival", ["save", "refusal", "stop"])
def test_an_answer_that_wakes_a_task_and_whatever_takes_its_card_away(store: Store, rival: str) -> None:
    # Given a task that waits for the card of the version it wrote
    task_id, card = waiting(store), the_card(store)
    held = threading.Event()

    def grant() -> Card:
        held.wait(PATIENCE)
        with store.database.transaction(store.workspace_id) as scope:
            return answer_card(scope, card.id, "grant", None, store.person_id, ANSWERS)

    # When a person answers while something else takes the same rows
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(grant)
        with store.database.transaction(store.workspace_id) as scope:
            match rival:
                case "save":
                    promotion.lock_with_candidate(scope, "x")
                    held.set()
                    threading.Event().wait(0.3)
                    save_version(scope, "x", "2")
                case "refusal":
                    sha = versions.get_version_by_number(scope, "x", 1).sha
                    promotion.lock_with_candidate(scope, "x")
                    held.set()
                    threading.Event().wait(0.3)
                    promotion.refuse_version(scope, "x", sha, (SkillProblem(None, "no", "yes"),))
                case _:
                    held.set()
                    threading.Event().wait(0.3)
                    control.stop_task(scope, task_id)
        # Then both come to an end: the answer was first, or is told that it came too late
        error = answer.exception(PATIENCE)
    assert error is None or (isinstance(error, ConflictError) and error.facts()["state"] in {"superseded", "void"}), (
        error
    )
