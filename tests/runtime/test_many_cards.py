"""A task that asks more than a page can show: what decides about it goes by all its cards."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta

import pytest

from core.database import Scope
from core.errors import ConflictError
from core.llm.scripted_model import ScriptedModel, says
from core.tables import changes
from runtime.cards import cards
from runtime.cards.answers import CardAnswers, answer_card, answer_card_in_words
from runtime.cards.cards import Card
from runtime.commands import control
from runtime.statuses import CardKind
from runtime.tables import cards as card_rows
from runtime.tasks import waits
from runtime.tasks.tasks import Task
from tests.runtime.turn_driver import drive_turn, get_task, new_task, newest_turn, post_words, runtime_dependencies
from tests.support.databases import Store

MANY = 64
OPTIONS = ({"id": "a", "label": "A"},)


def _ask(store: Store, task_id: str, kind: str = "choice", many: int = MANY, begin: str = "c") -> list[Card]:
    with store.database.transaction(store.workspace_id) as scope:
        return [
            cards.open_card(
                scope,
                kind=CardKind(kind),
                title="?",
                body="",
                options=OPTIONS,
                cause=f"{begin}:{task_id}:{n}",
                task_id=task_id,
            )
            for n in range(many)
        ]


def _states(store: Store, task_id: str) -> list[str]:
    with store.database.reading(store.workspace_id) as scope:
        return [card.state for card in cards.list_cards(scope, task_id=task_id, limit=500)]


@pytest.mark.boundary(21)
@pytest.mark.parametrize("end", [control.stop_task, control.archive_task])
def test_stop_voids_every_card_and_reports_each(store: Store, end: Callable[[Scope, str], Task]) -> None:
    task = new_task(store)
    asked = _ask(store, task.id)
    with store.database.transaction(store.workspace_id) as scope:
        end(scope, task.id)

    assert _states(store, task.id) == ["void"] * MANY
    with store.database.reading(store.workspace_id) as scope:
        told = [row.id for row in scope.rows(scope.select(changes).where(changes.c.kind == "card"))]
    assert sorted(told) == sorted([card.id for card in asked] * 2)


@pytest.mark.boundary(21)
@pytest.mark.parametrize("end", [control.stop_task, control.archive_task])
def test_answer_to_an_open_card_of_an_ended_task_is_refused(store: Store, end: Callable[[Scope, str], Task]) -> None:
    task = new_task(store)
    (card,) = _ask(store, task.id, many=1)
    with store.database.transaction(store.workspace_id) as scope:
        end(scope, task.id)
        scope.change(scope.update(card_rows).values(state="open"))
    acted: list[str] = []
    answers = CardAnswers({(CardKind.CHOICE, ""): lambda _scope, one: acted.append(one.id)})

    with store.database.transaction(store.workspace_id) as scope:
        with pytest.raises(ConflictError, match="its task is") as refused:
            answer_card(scope, card.id, "a", None, store.person_id, answers)
        assert not answer_card_in_words(scope, card, "a", "a", store.person_id, speaks_as="person")

    assert (acted, refused.value.facts()["state"]) == ([], "void")


def test_question_behind_many_results_still_holds_the_task(store: Store) -> None:
    task = new_task(store)
    post_words(store, task.id, "go")
    _ask(store, task.id, kind="result", begin="r")
    store.clock.advance(timedelta(seconds=1))
    (question,) = _ask(store, task.id, many=1)

    assert (
        drive_turn(runtime_dependencies(store, ScriptedModel(says("ok"))), store, newest_turn(store, task.id).id)
        == "gated"
    )

    assert get_task(store, task.id).status == "waiting"
    with store.database.reading(store.workspace_id) as scope:
        wait = waits.find_wait(scope, task.id)
    assert wait is not None
    assert wait.refs == (question.id,)


def test_an_answered_question_is_waited_for_no_more(store: Store) -> None:
    task = new_task(store)
    post_words(store, task.id, "go")
    first, second = _ask(store, task.id, many=2)
    model = ScriptedModel(says("ok"), says("Thank you."))
    drive_turn(runtime_dependencies(store, model), store, newest_turn(store, task.id).id)

    for card, left in ((first, (second.id,)), (second, None)):
        with store.database.transaction(store.workspace_id) as scope:
            answer_card(scope, card.id, "a", None, store.person_id, CardAnswers())
        with store.database.reading(store.workspace_id) as scope:
            wait = waits.read_open_wait(scope, task.id)
        assert (None if wait is None else wait.refs) == left

    drive_turn(runtime_dependencies(store, model), store, newest_turn(store, task.id).id, "run-2")
    assert '"waiting_on": null' in str(model.requests[-1][0][-1]["content"])


def test_question_of_a_dropped_step_goes_with_it_behind_many_others(store: Store) -> None:
    task = new_task(store)
    post_words(store, task.id, "go")
    _ask(store, task.id, kind="result", begin="r")
    store.clock.advance(timedelta(seconds=1))
    plan = ("create_checklist", json.dumps({"steps": [{"title": "One", "checkpoint": True}]}))
    ask = ("ask_user", json.dumps({"kind": "checkpoint", "title": "Go on?", "step": 1}))
    other = ("create_checklist", json.dumps({"steps": [{"title": "Another"}]}))
    dependencies = runtime_dependencies(
        store, ScriptedModel(says("", plan), says("", ask), says("", other), says("ok"))
    )
    drive_turn(dependencies, store, newest_turn(store, task.id).id)

    with store.database.reading(store.workspace_id) as scope:
        found = [card for card in cards.list_cards(scope, task_id=task.id, limit=500) if card.kind == "checkpoint"]
    assert [card.state for card in found] == ["superseded"]
