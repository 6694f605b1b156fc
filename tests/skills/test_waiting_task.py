"""A task whose skill asks for permissions waits for the card, and an answer takes the task up again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.llm.scripted_model import ScriptedModel, says
from core.tools import CallContext
from runtime.cards import cards
from runtime.cards.answers import CardAnswers, answer_card
from runtime.cards.cards import Card
from runtime.commands import control
from runtime.inbox import inbox
from runtime.statuses import InputKind
from runtime.tasks import tasks, waits
from runtime.turns import rows
from skills.book import skill, versions
from skills.card_answers import SKILL_CARD_ANSWERS
from skills.format.problem import SkillProblem
from skills.lifecycle import authors, promotion
from tests.runtime.turn_driver import (
    Note,
    drive_turn,
    get_task,
    new_task,
    newest_turn,
    post_words,
    runtime_dependencies,
)
from tests.skills.saved_versions import save_version
from tests.support.databases import Store

ANSWERS = CardAnswers(SKILL_CARD_ANSWERS)


def waiting(store: Store) -> str:
    """A task whose turn wrote a skill that wants to spend, and ended."""

    def write(call: CallContext) -> None:
        with store.database.transaction(store.workspace_id) as scope:
            version = save_version(scope, "x", "1", "agent", call.call_id, spend=True)
            promotion.wait_for_permission(scope, "x", version, ("spend",))

    task = new_task(store, "Watch the checkout")
    post_words(store, task.id, "watch it")
    model = ScriptedModel(says("", ("write_skill", "{}")), says("It waits for you."))
    dependencies = runtime_dependencies(store, model, Note("write_skill", during=write))
    assert drive_turn(dependencies, store, newest_turn(store, task.id).id) == "gated"
    return task.id


def the_card(store: Store) -> Card:
    with store.database.reading(store.workspace_id) as scope:
        (card,) = cards.list_open_cards(scope)
    return card


def answer(store: Store, card: Card, option: str) -> None:
    with store.database.transaction(store.workspace_id) as scope:
        answer_card(scope, card.id, option, None, store.person_id, ANSWERS)


def stage(store: Store) -> str:
    with store.database.reading(store.workspace_id) as scope:
        return versions.get_version_by_number(scope, "x", 1).stage


def test_the_task_says_for_which_card_it_waits(store: Store) -> None:
    task_id = waiting(store)

    card = the_card(store)
    assert (card.kind, card.task_id, get_task(store, task_id).status) == ("permission", task_id, "waiting")
    with store.database.reading(store.workspace_id) as scope:
        wait = waits.find_wait(scope, task_id)
    assert wait is not None
    assert (wait.kind, wait.refs) == ("card", (card.id,))


@pytest.mark.parametrize(("option", "became"), [("grant", "checked"), ("refuse", "refused")])
def test_an_answer_takes_the_task_up_and_it_reads_what_was_said(store: Store, option: str, became: str) -> None:
    task_id = waiting(store)

    answer(store, the_card(store), option)

    assert stage(store) == became
    turn = newest_turn(store, task_id)
    assert turn.status == "queued"
    model = ScriptedModel(says("Thank you."))
    assert drive_turn(runtime_dependencies(store, model), store, turn.id) == "completed"
    assert f'"option": "{option}"' in str(model.requests[0][0])
    assert get_task(store, task_id).status == "done"


def test_the_answer_and_the_turn_it_queues_are_one_transaction(store: Store) -> None:
    task_id, card = waiting(store), the_card(store)
    before = newest_turn(store, task_id)

    def dies() -> None:
        with store.database.transaction(store.workspace_id) as scope:
            answer_card(scope, card.id, "grant", None, store.person_id, ANSWERS)
            raise KeyError("the process dies before the commit")

    with pytest.raises(KeyError):
        dies()
    assert (the_card(store).id, newest_turn(store, task_id).id, stage(store)) == (card.id, before.id, "waiting")
    answer(store, card, "grant")
    assert newest_turn(store, task_id).status == "queued"


def test_a_newer_save_tells_the_task_that_the_answer_will_not_come(store: Store) -> None:
    task_id, card = waiting(store), the_card(store)

    with store.database.transaction(store.workspace_id) as scope:
        save_version(scope, "x", "2")

    turn = newest_turn(store, task_id)
    assert turn.status == "queued"
    with store.database.reading(store.workspace_id) as scope:
        (unread,) = inbox.list_unread(scope, task_id)
        assert cards.get_card(scope, card.id).state == "superseded"
    assert (unread.kind, unread.ref_id) == ("answer", card.id)


def test_a_task_that_was_stopped_takes_its_question_along_and_the_skill_asks_by_itself(store: Store) -> None:
    task_id, card = waiting(store), the_card(store)
    with store.database.transaction(store.workspace_id) as scope:
        control.stop_task(scope, task_id)

    with store.database.transaction(store.workspace_id) as scope:
        assert cards.get_card(scope, card.id).state == "void"
        version = versions.get_version_by_number(scope, "x", 1)
        facts = promotion.collect_facts(
            scope, skill.get_skill(scope, "x"), version, always_ask=False, canary_runs=1, shadow_runs=1
        )
        assert facts.unanswerable
        promotion.wait_for_permission(scope, "x", version, facts.missing)

    asked = the_card(store)
    assert asked.task_id is None
    answer(store, asked, "grant")
    assert stage(store) == "checked"
    with store.database.reading(store.workspace_id) as scope:
        assert tasks.get_task(scope, task_id).status == "stopped"


def test_a_version_that_falls_after_its_write_was_answered_is_told_to_its_task(store: Store) -> None:
    task_id = waiting(store)
    answer(store, the_card(store), "grant")
    drive_turn(runtime_dependencies(store, ScriptedModel(says("Thank you."))), store, newest_turn(store, task_id).id)
    problem = SkillProblem(None, "the engine refuses it: no such schedule", "correct the trigger")

    with store.database.transaction(store.workspace_id) as scope:
        promotion.refuse_version(scope, "x", versions.get_version_by_number(scope, "x", 1).sha, (problem,))

    turn = newest_turn(store, task_id)
    assert turn.status == "queued"
    made = runtime_dependencies(store, ScriptedModel(says("I see.")))
    made = replace(made, inputs=replace(made.inputs, by_kind={InputKind.SKILL: authors.read_refused_input}))
    assert drive_turn(made, store, turn.id) == "completed"
    asked = str(made.model.requests[0][0]) if isinstance(made.model, ScriptedModel) else ""
    assert '"stage": "refused"' in asked
    assert "no such schedule" in asked


@pytest.mark.parametrize(("stage", "turns"), [("checked", 1), ("dry_run", 2), ("shadow", 2), ("canary", 1)])
def test_what_the_write_or_a_failed_run_tells_is_not_told_again(store: Store, stage: str, turns: int) -> None:
    def write(call: CallContext) -> None:
        with store.database.transaction(store.workspace_id) as scope:
            version = save_version(scope, "x", "1", "agent", call.call_id)
            promotion.set_candidate_stage(scope, "x", version, stage)

    task = new_task(store, "Watch the checkout")
    post_words(store, task.id, "watch it")
    model = ScriptedModel(says("", ("write_skill", "{}")), says("It is tried."))
    drive_turn(
        runtime_dependencies(store, model, Note("write_skill", during=write)), store, newest_turn(store, task.id).id
    )

    with store.database.transaction(store.workspace_id) as scope:
        promotion.refuse_version(
            scope, "x", versions.get_version_by_number(scope, "x", 1).sha, (SkillProblem(None, "it failed", "mend it"),)
        )
        assert len(rows.list_turns_of_task(scope, task.id)) == turns
