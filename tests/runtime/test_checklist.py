"""What may count as done: evidence of the task itself, in the order of the plan, and not built on what was set back."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from core.llm.scripted_model import ScriptedModel, says
from core.tools import Tool
from runtime.cards import cards
from runtime.cards.answers import CardAnswers, answer_card
from runtime.statuses import CardKind
from runtime.tasks import checklist
from runtime.tasks.checklist import ChecklistStep
from runtime.tools.plan import UpdateChecklist
from tests.runtime.turn_driver import drive_turn, new_task, newest_turn, post_words, runtime_dependencies
from tests.support.databases import Store
from workspace import objects
from workspace.state import is_object_of_task

Call = tuple[str, str]


def plan(*steps: Mapping[str, Any]) -> Call:
    return "create_checklist", json.dumps({"steps": list(steps)})


def mark(*changes: Mapping[str, Any]) -> Call:
    return "update_checklist", json.dumps({"changes": list(changes)})


def done(n: int, kind: str, thing_id: str) -> dict[str, Any]:
    return {"n": n, "status": "done", "evidence": [{"kind": kind, "id": thing_id}]}


def results_of(store: Store, task_id: str, *decisions: Sequence[Call]) -> list[dict[str, Any]]:
    """Let a model make these calls, a decision after the other; return the results that it was shown."""
    model = ScriptedModel(*[says("", *calls) for calls in decisions], says("That is all."))
    tools: tuple[Tool, ...] = (UpdateChecklist({"object": is_object_of_task}),)
    drive_turn(runtime_dependencies(store, model, *tools), store, newest_turn(store, task_id).id)
    return [dict(json.loads(str(one["content"]))) for one in model.requests[-1][0] if one["role"] == "tool"]


def steps_of(store: Store, task_id: str) -> dict[int, ChecklistStep]:
    with store.database.reading(store.workspace_id) as scope:
        return {step.n: step for step in checklist.list_checklist(scope, task_id)}


def new_object(store: Store, task_id: str | None) -> str:
    with store.database.transaction(store.workspace_id) as scope:
        return objects.create_object(
            scope,
            kind="document",
            title="Shopping",
            media_type="text/markdown",
            size=4,
            sha256="0" * 64,
            created_by=f"person:{store.person_id}",
            cause=scope.ids.new("cause"),
            task_id=task_id,
        ).id


def new_answered_card(store: Store, task_id: str) -> str:
    with store.database.transaction(store.workspace_id) as scope:
        options = [{"id": "yes", "label": "Yes"}]
        card = cards.open_card(
            scope,
            kind=CardKind.CHOICE,
            title="This?",
            body="",
            options=options,
            cause=scope.ids.new("cause"),
            task_id=task_id,
        )
        answer_card(scope, card.id, "yes", None, store.person_id, CardAnswers())
    return card.id


@pytest.mark.parametrize("kind", ["object", "message", "card"])
def test_what_belongs_to_another_task_is_no_evidence(store: Store, kind: str) -> None:
    other, task = new_task(store, "Other"), new_task(store)
    foreign = {
        "object": lambda: new_object(store, other.id),
        "message": lambda: post_words(store, other.id, "Elsewhere"),
        "card": lambda: new_answered_card(store, other.id),
    }[kind]()
    post_words(store, task.id, "go")

    _, refused = results_of(store, task.id, [plan({"title": "Draw"}), mark(done(1, kind, foreign))])

    assert refused["error"] == "invalid"
    assert foreign in refused["message"]
    assert steps_of(store, task.id)[1].status == "todo"


def test_an_object_of_the_task_is_evidence_and_one_of_no_task_is_not(store: Store) -> None:
    task = new_task(store)
    ours, nobodys = new_object(store, task.id), new_object(store, None)
    post_words(store, task.id, "go")

    results = results_of(
        store, task.id, [plan({"title": "Draw"})], [mark(done(1, "object", nobodys))], [mark(done(1, "object", ours))]
    )

    assert [bool(one.get("error")) for one in results] == [False, True, False]


def test_a_step_is_not_done_before_those_it_depends_on(store: Store) -> None:
    task = new_task(store)
    proof = post_words(store, task.id, "go")
    steps = plan({"title": "Brief"}, {"title": "Look", "depends_on": [1]}, {"title": "Cut", "depends_on": [2]})

    _, early, _ = results_of(
        store,
        task.id,
        [steps],
        [mark(done(2, "message", proof))],
        # All at once and in any order is no hindrance: what counts is how the checklist stands after it
        [mark(done(3, "message", proof), done(2, "message", proof), done(1, "message", proof))],
    )

    assert early["message"] == "step 2 depends on 1, which must be done before it"
    assert {n: step.status for n, step in steps_of(store, task.id).items()} == {1: "done", 2: "done", 3: "done"}


def test_a_step_set_back_makes_what_was_built_on_it_stale_until_that_is_done_again(store: Store) -> None:
    task = new_task(store)
    proof = post_words(store, task.id, "go")
    steps = plan(
        {"title": "Brief"},
        {"title": "Look", "depends_on": [1]},
        {"title": "Cut", "depends_on": [2]},
        {"title": "Sound"},
    )
    finish = ("finish", json.dumps({"summary": "Ready."}))

    *_, refused = results_of(
        store,
        task.id,
        [steps, mark(*(done(n, "message", proof) for n in (1, 2, 3, 4)))],
        [mark({"n": 1, "status": "todo"})],
        [mark(done(1, "message", proof))],
        [finish],
    )

    assert {n: step.stale for n, step in steps_of(store, task.id).items()} == {1: False, 2: True, 3: True, 4: False}
    assert refused["message"].startswith("steps 2, 3 are stale")
    assert newest_turn(store, task.id).status == "queued"
    results_of(store, task.id, [mark(done(2, "message", proof), done(3, "message", proof))])
    assert not any(step.stale for step in steps_of(store, task.id).values())


def test_dependencies_count_the_given_steps_and_survive_a_new_plan(store: Store) -> None:
    task = new_task(store)
    proof = post_words(store, task.id, "go")
    first = plan({"title": "Brief"}, {"title": "Look", "depends_on": [1]})
    second = plan(
        {"title": "Script"},
        {"title": "Brief"},
        {"title": "Shots", "depends_on": [1, 2]},
        {"title": "Cut", "depends_on": [1, 3]},
    )

    *_, planned = results_of(
        store, task.id, [first, mark(done(1, "message", proof), done(2, "message", proof))], [second]
    )

    after = {step.title: (step.n, step.depends_on) for step in steps_of(store, task.id).values()}
    assert after == {"Brief": (1, ()), "Look": (2, (1,)), "Script": (3, ()), "Shots": (4, (3, 1)), "Cut": (5, (3, 4))}
    assert planned["numbers"] == {"1": 3, "2": 1, "3": 4, "4": 5}


@pytest.mark.parametrize("wrong", [0, 2, 3, -1])
def test_a_step_depends_on_earlier_ones_only(store: Store, wrong: int) -> None:
    task = new_task(store)
    post_words(store, task.id, "go")

    (refused,) = results_of(store, task.id, [plan({"title": "Brief"}, {"title": "Look", "depends_on": [wrong]})])

    assert f"depends on {wrong}; name earlier steps of this list, counted from 1" in refused["message"]
    assert steps_of(store, task.id) == {}
