"""How far a task goes before a person looks: the levels, who moves them, and what waits at a checkpoint."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from core.llm.scripted_model import ScriptedModel, says
from runtime import notices
from runtime.cards import cards
from runtime.cards.answers import CardAnswers, answer_card
from runtime.cards.cards import Card
from runtime.commands import control
from runtime.loop import entry, turn_end
from runtime.statuses import CardKind
from runtime.turns import ledger_queries
from tests.runtime.turn_driver import (
    Note,
    drive_turn,
    get_task,
    new_task,
    newest_turn,
    post_words,
    runtime_dependencies,
)
from tests.support.databases import Store

PLAN = ({"title": "Brief"}, {"title": "Pictures"}, {"title": "Film"})


def plan(*steps: dict[str, Any]) -> tuple[str, str]:
    return "create_checklist", json.dumps({"steps": list(steps)})


def done(*numbers: int, by: str) -> tuple[str, str]:
    changes = [{"n": n, "status": "done", "evidence": [{"kind": "message", "id": by}]} for n in numbers]
    return "update_checklist", json.dumps({"changes": changes})


def played(store: Store, task_id: str, *calls: tuple[str, str]) -> str:
    """A turn that makes these calls and says no more; answers how it ended."""
    model = ScriptedModel(says("", *calls), says("So far.")) if calls else ScriptedModel(says("So far."))
    return drive_turn(
        runtime_dependencies(store, model, Note()), store, newest_turn(store, task_id).id, run_id=f"run-{task_id}"
    )


def open_cards(store: Store, task_id: str) -> list[Card]:
    with store.database.reading(store.workspace_id) as scope:
        return cards.list_open_cards(scope, task_id)


def answer(store: Store, card: Card, option: str) -> None:
    with store.database.transaction(store.workspace_id) as scope:
        answer_card(scope, card.id, option, None, store.person_id, CardAnswers())


def level(store: Store, task_id: str, value: str) -> None:
    with store.database.transaction(store.workspace_id) as scope:
        control.set_task_autonomy(scope, task_id, value)


def begun(store: Store, value: str, steps: Sequence[dict[str, Any]] = PLAN) -> tuple[str, str, str]:
    """A task at a level whose first turn writes a plan and does its first two steps; how that turn ended."""
    task = new_task(store)
    message = post_words(store, task.id, "go")
    level(store, task.id, value)
    return task.id, message, played(store, task.id, plan(*steps), done(1, 2, by=message))


@pytest.mark.parametrize(
    ("value", "marks", "ends"),
    [
        ("step", {}, "gated"),
        ("checkpoint", {}, "completed"),
        ("checkpoint", {"checkpoint": True}, "gated"),
        ("plan", {"checkpoint": True}, "completed"),
        ("plan", {"mandatory": True}, "gated"),
        ("checkpoint", {"mandatory": True}, "gated"),
    ],
)
def test_where_a_task_stops_at_which_level(store: Store, value: str, marks: dict[str, bool], ends: str) -> None:
    first, *others = PLAN
    task_id, _, ended = begun(store, value, ({**first, **marks}, *others))

    assert ended == ends
    assert [card.kind for card in open_cards(store, task_id)] == (["checkpoint"] if ends == "gated" else [])


def test_plan_that_is_written_anew_is_asked_about_once(store: Store) -> None:
    task_id, asked, _ = begun(store, "plan")
    rewritten = plan({"title": "Sound"}, {"title": "Titles"}, {"title": "End"})

    assert played(store, task_id, rewritten, done(3, by=asked)) == "gated"
    (card,) = open_cards(store, task_id)
    assert card.title == "Sound"

    answer(store, card, "continue")
    assert played(store, task_id, done(4, by=asked)) == "completed"
    assert open_cards(store, task_id) == []


def test_checkpoint_that_is_to_be_adjusted_is_asked_about_again(store: Store) -> None:
    """Though the model leaves the step as it was."""
    first, *others = PLAN
    task_id, _, _ = begun(store, "checkpoint", ({**first, "checkpoint": True}, *others))
    (card,) = open_cards(store, task_id)
    answer(store, card, "adjust")

    assert played(store, task_id) == "gated"

    (again,) = open_cards(store, task_id)
    assert again.id != card.id


def test_noes_in_a_row_lower_the_level_by_one_and_the_person_is_told(store: Store) -> None:
    task = new_task(store)
    level(store, task.id, "plan")
    answers = ("refuse", "adjust", "approve", "refuse", "adjust", "keep")
    levels = []
    for n, option in enumerate(answers):
        with store.database.transaction(store.workspace_id) as scope:
            card = cards.open_card(
                scope, kind=CardKind.CHOICE, title="?", body="", options=[{"id": option}], cause=str(n), task_id=task.id
            )
        answer(store, card, option)
        levels.append(get_task(store, task.id).autonomy)

    assert levels == ["plan"] * 5 + ["checkpoint"]
    with store.database.reading(store.workspace_id) as scope:
        (told,) = notices.list_newest_notices(scope)
    assert (told.task_id, "at every checkpoint" in told.text) == (task.id, True)


def test_failures_in_a_row_lower_the_level_and_only_a_person_raises_it(store: Store) -> None:
    task = new_task(store)
    for n in range(4):
        post_words(store, task.id, f"try {n}")
        turn_id = newest_turn(store, task.id).id
        broken = runtime_dependencies(store, ScriptedModel())
        entry.open_turn(broken, store.workspace_id, turn_id, f"run-{n}")
        assert turn_end.fail_turn(broken, store.workspace_id, turn_id, f"run-{n}", "it broke")
        assert get_task(store, task.id).autonomy == ("step" if n >= 2 else "checkpoint")

    level(store, task.id, "plan")
    assert (get_task(store, task.id).autonomy, get_task(store, task.id).setbacks) == ("plan", 0)


def test_nothing_is_written_while_a_checkpoint_holds_the_task(store: Store) -> None:
    """The plan itself may be kept; a decision that asks and writes at once writes nothing."""
    task = new_task(store)
    post_words(store, task.id, "go")
    note = Note()
    note.held_at_checkpoint = True
    ask = ("ask_user", json.dumps({"kind": "checkpoint", "title": "This way?"}))
    turn_id = newest_turn(store, task.id).id
    brief = ("set_brief", json.dumps({"brief": "Both ways"}))
    model = ScriptedModel(says("", ask, ("note", "{}"), brief), says("Please say."))

    assert drive_turn(runtime_dependencies(store, model, note), store, turn_id) == "gated"

    with store.database.reading(store.workspace_id) as scope:
        asked, wrote, kept = ledger_queries.list_calls_of_step(scope, turn_id, 1)
    assert (asked.status, wrote.status, kept.status) == ("done", "failed", "done")
    assert (wrote.result or {})["error"] == "autonomy"
    assert note.ran == []
    (card,) = open_cards(store, task.id)
    answer(store, card, "continue")
    later = runtime_dependencies(store, ScriptedModel(says("", ("note", "{}")), says("Done.")), note)
    drive_turn(later, store, newest_turn(store, task.id).id, run_id="run-2")
    assert len(note.ran) == 1
