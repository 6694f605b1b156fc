"""Messages go through the router's steps on real rows."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

import pytest
from sqlalchemy.exc import DBAPIError

from core.errors import ModelError
from core.llm.port import ChatMessage as ModelMessage
from core.llm.port import Verdict
from core.llm.scripted_model import ScriptedModel
from router import judgement
from runtime.cards import cards
from runtime.inbox.messages import LONGEST_TEXT
from tests.router.world import RouterWorld, facts_in, scripted, verdict
from tests.support.databases import Store


@pytest.mark.boundary(1)
def test_a_message_in_a_tasks_panel_needs_no_model(store: Store) -> None:
    world, model = scripted(store)
    task = world.task("Posters")
    message = world.route(world.say("make it blue", to_task_id=task.id))
    assert message.state == "delivered"
    assert message.task_id == task.id
    assert world.inbox_of(task.id) == [(message.id, "delivered")]
    assert world.open_turns() == [(task.id, None)]
    assert world.stored_route(message)["level"] == "explicit"
    assert model.requests == []


@pytest.mark.boundary(1)
def test_a_message_about_a_work_goes_to_the_task_that_made_it(store: Store) -> None:
    world, model = scripted(store)
    maker = world.task("Posters")
    work = world.work("Poster 1", maker)
    borrower = world.task("A film of it", kind="light")
    with store.database.transaction(store.workspace_id) as scope:
        world.dependencies.works.link(scope, work.id, borrower.id)
    message = world.route(world.say("bluer", to_object_id=work.id))
    assert message.task_id == maker.id
    assert world.stored_route(message)["level"] == "object"
    assert model.requests == []


def test_an_older_task_that_only_uses_a_work_does_not_get_the_message_about_it(store: Store) -> None:
    world, model = scripted(store)
    borrower = world.task("A film of what comes")
    maker = world.task("Posters")
    work = world.work("Poster 1", maker)
    with store.database.transaction(store.workspace_id) as scope:
        world.dependencies.works.link(scope, work.id, borrower.id)
    assert world.route(world.say("bluer", to_object_id=work.id)).task_id == maker.id
    assert model.requests == []


@pytest.mark.case("B36")
@pytest.mark.parametrize(
    "text",
    [
        "a" * LONGEST_TEXT,
        "😀" * LONGEST_TEXT,
        "字" * LONGEST_TEXT,
        ("INT. HARBOUR - NIGHT. Mira walks. " * 20_000)[:LONGEST_TEXT],
        "https://shop.example/" + "x%_" * 60_000,
    ],
    ids=["one word", "emoji", "unspaced", "script", "address"],
)
def test_a_text_as_long_as_a_message_may_be_is_routed_and_so_is_the_next(store: Store, text: str) -> None:
    # Given an older task beyond those that every message is shown
    world, model = scripted(store, verdict("main"), verdict("main"))
    for n in range(21):
        world.task(f"Poster {n}")

    # When somebody pastes a whole script, and then asks something short
    long = world.route(world.say(text))
    short = world.route(world.say("and now?"))

    # Then both reach Main whole, and the model was not sent it all
    assert (long.state, short.state) == ("delivered", "delivered")
    assert world.message(long.id).text == text
    assert max(len(str(asked)) for asked in model.requests) < 60_000


@pytest.mark.boundary(3)
@pytest.mark.parametrize(("end", "word"), [("archived", "archived"), ("stopped", "stopped")])
def test_an_ended_task_takes_nothing_and_the_person_is_told(store: Store, end: str, word: str) -> None:
    world, model = scripted(store)
    task = world.task("Harbour posters", status=end)
    message = world.route(world.say("make it blue again please", to_task_id=task.id))
    assert message.state == "answered"
    assert world.inbox_of(task.id) == []
    assert world.open_turns() == []
    assert word in world.replies(message)[0]
    assert "Harbour posters" in world.replies(message)[0]
    assert model.requests == []


def test_the_person_is_told_in_their_own_language(store: Store) -> None:
    world, _ = scripted(store)
    task = world.task("Harbour posters", status="stopped")
    message = world.route(world.say("Rends les affiches un peu plus chaudes", to_task_id=task.id))
    assert "a été arrêté" in world.replies(message)[0]


@pytest.mark.boundary(3)
def test_an_unknown_task_and_a_deleted_work_change_nothing(store: Store) -> None:
    world, model = scripted(store)
    unknown = world.route(world.say("make it blue", to_task_id="task_nowhere"))
    deleted = world.route(world.say("make it blue", to_object_id="object_nowhere"))
    assert [unknown.state, deleted.state] == ["answered", "answered"]
    assert world.all_tasks() == []
    assert "deleted" in world.replies(deleted)[0]
    assert model.requests == []


def test_a_goal_becomes_a_task_with_the_persons_words(store: Store) -> None:
    world, model = scripted(store, verdict("new", goal="一组海报"))
    message = world.route(world.say("Make three posters for the night market in 横浜"))
    task = world.get_task(message.task_id)
    # the verdict's summary may drift to another language; the goal is what the person wrote
    assert (task.kind, task.goal, task.language) == ("persistent", message.text, "en")
    assert task.cause == message.id
    assert world.inbox_of(task.id) == [(message.id, "delivered")]
    assert world.stored_route(message)["task_id"] == task.id
    model.assert_spent()


def test_a_very_long_message_does_not_become_a_very_long_goal(store: Store) -> None:
    world, model = scripted(store, verdict("new"))
    text = "Make a film from this script. " + "INT. NIGHT. Rain. " * 10_000
    message = world.route(world.say(text))
    assert len(world.get_task(message.task_id).goal) == 4000
    assert world.message(message.id).text == text.strip()
    assert len(facts_in(model.requests[0][0])["message"]["text"]) == 4000


def test_one_generation_becomes_a_light_task_with_its_source(store: Store) -> None:
    world, _ = scripted(store)
    posters = world.task("Posters")
    work = world.work("Poster 1", posters)
    world.foresee(verdict("light", object_ids=[work.id]))
    message = world.route(world.say("Also turn the first one into a five-second video."))
    task = world.get_task(message.task_id)
    assert task.kind == "light"
    with store.database.reading(store.workspace_id) as scope:
        assert [one.id for one in world.dependencies.works.of_tasks(scope, [task.id])[task.id]] == [work.id]


def test_a_question_goes_to_main_and_makes_no_task(store: Store) -> None:
    world, _ = scripted(store, verdict("main"))
    message = world.route(world.say("Which video lengths can you do?"))
    assert message.state == "delivered"
    assert world.open_turns() == [(None, message.id)]
    assert world.all_tasks() == []


def test_a_follow_up_goes_to_its_task_which_follows_the_language(store: Store) -> None:
    world, _ = scripted(store)
    task = world.task("Make three posters", status="done")
    world.foresee(verdict("existing", task_id=task.id))
    message = world.route(world.say("Rends-les un peu plus chaudes, s'il te plaît"))
    after = world.get_task(task.id)
    assert message.task_id == task.id
    assert (after.status, after.language) == ("active", "fr")


def test_words_too_few_to_tell_leave_the_tasks_language(store: Store) -> None:
    world, _ = scripted(store)
    task = world.task("Trois affiches pour la fête", language="fr")
    world.foresee(verdict("existing", task_id=task.id))
    assert world.route(world.say("42 · 43")).language == "fr"
    assert world.get_task(task.id).language == "fr"


def test_ids_that_were_not_offered_become_a_question(store: Store) -> None:
    world, _ = scripted(store)
    task = world.task("Posters for the harbour")
    for bad in (
        verdict("existing", task_id="task_invented"),
        verdict("existing"),
        verdict("light", object_ids=["object_invented"]),
        verdict("new", object_ids=["object_invented"]),
    ):
        world.foresee(bad)
        message = world.route(world.say("change the harbour posters"))
        assert message.state == "routed"
        stored = world.stored_route(message)
        assert stored["outcome"] == "ask"
        assert [one["task_id"] for one in stored["candidates"]] == [task.id]
    assert world.inbox_of(task.id) == []
    assert len(world.all_tasks()) == 1


@pytest.mark.boundary(5)
def test_an_ambiguous_set_is_asked_about_and_nothing_is_changed(store: Store) -> None:
    world, _ = scripted(store)
    one, other = world.task("Posters for the harbour"), world.task("Posters for the jazz club")
    candidates = [{"task_id": one.id, "score": 0.6}, {"task_id": other.id, "score": 7}, {"task_id": "x", "score": 0.1}]
    world.foresee(verdict("ask", candidates=candidates))
    message = world.route(world.say("Change last time's set"))
    with store.database.reading(store.workspace_id) as scope:
        (card,) = cards.list_open_cards(scope)
    assert (card.kind, card.message_id, card.task_id) == ("clarify", message.id, None)
    assert [option["id"] for option in card.options] == [one.id, other.id, "new"]
    assert [known["score"] for known in world.stored_route(message)["candidates"]] == [0.6, 1.0]
    assert world.open_turns() == []


def test_a_model_without_a_usable_verdict_leaves_it_to_the_person(store: Store) -> None:
    class Broken(ScriptedModel):
        def verdict(self, name: str, shape: type[Verdict], messages: Sequence[ModelMessage]) -> Verdict:
            raise ModelError(f"no usable verdict `{name}` twice")

    world = RouterWorld(store, Broken())
    task = world.task("Posters for the harbour")
    message = world.route(world.say("make the harbour ones warmer"))
    stored = world.stored_route(message)
    assert stored["outcome"] == "ask"
    assert stored["candidates"][0]["task_id"] == task.id
    assert "no usable verdict" in stored["reasons"][0]


def test_the_model_is_shown_tasks_works_words_and_thread(store: Store) -> None:
    world, model = scripted(store, verdict("main"), verdict("main"))
    task = world.task("Posters for the harbour", status="done")
    work = world.work("Poster 1", task)
    world.task("Stopped thing", status="stopped")
    world.route(world.say("hello there, how are you?"))
    attached = world.work("Sketch")
    world.route(world.say("what is this?", attachments=[attached.id]))
    facts = facts_in(model.requests[-1][0])
    assert [one["id"] for one in facts["tasks"]] == [task.id]
    (shown,) = facts["tasks"][0]["objects"]
    assert (shown["id"], shown["kind"], shown["title"]) == (work.id, "image", "Poster 1")
    assert [one["text"] for one in facts["thread"]] == ["hello there, how are you?"]
    assert facts["message"]["attachments"][0]["id"] == attached.id


def test_the_model_is_told_what_time_it_is_and_how_old_things_are(store: Store) -> None:
    world, model = scripted(store, verdict("main"), verdict("main"))
    task = world.task("Postcards")
    world.work("Yesterday's picture", task)
    world.route(world.say("hello there"))
    store.clock.advance(timedelta(days=1))
    today = world.work("Today's picture", task)
    world.route(world.say("Turn yesterday's picture into a film"))

    facts = facts_in(model.requests[-1][0])
    now = datetime.fromisoformat(facts["now"]["time"])
    assert now == store.clock.now().replace(second=0, microsecond=0)
    assert facts["now"]["weekday"] == now.strftime("%A")
    assert datetime.fromisoformat(facts["message"]["at"]) == now
    assert now - datetime.fromisoformat(facts["thread"][0]["at"]) >= timedelta(hours=23)
    older, newer = facts["tasks"][0]["objects"]
    assert newer["id"] == today.id
    assert (
        datetime.fromisoformat(older["changed_at"]).date()
        < now.date()
        == datetime.fromisoformat(newer["changed_at"]).date()
    )


def test_older_tasks_are_found_by_their_words(store: Store) -> None:
    world, model = scripted(store, verdict("main"))
    old = world.task("Storyboard about the 100% lighthouse_keeper")
    archived = world.task("Lighthouse logo", status="archived")
    for n in range(25):
        world.task(f"Unrelated goal number {n}")
    world.route(world.say("the lighthouse one should be longer"))
    facts = facts_in(model.requests[-1][0])
    assert len(facts["tasks"]) == 20
    assert {one["id"] for one in facts["older"]} == {old.id, archived.id}


@pytest.mark.boundary(4)
def test_a_near_duplicate_is_put_to_the_model_and_joins_its_task(store: Store) -> None:
    world, model = scripted(store)
    task = world.task("Make three retro posters for the Harbour Festival", status="waiting")
    world.foresee(verdict("new"), {"outcome": "existing", "task_id": task.id, "reasons": ["the same goal"]})
    message = world.route(world.say("three retro posters for the harbour festival please"))
    assert message.task_id == task.id
    assert len(world.all_tasks()) == 1
    stored = world.stored_route(message)
    assert stored["outcome"] == "existing"
    assert stored["candidates"][0]["task_id"] == task.id
    assert facts_in(model.requests[-1][0])["candidates"][0]["id"] == task.id
    model.assert_spent()


def test_only_active_tasks_count_as_duplicates(store: Store) -> None:
    world, model = scripted(store, verdict("new"))
    world.task("Make three retro posters for the Harbour Festival", status="done")
    world.route(world.say("Make three retro posters for the Harbour Festival"))
    assert len(world.all_tasks()) == 2
    model.assert_spent()


@pytest.mark.case("B56")
def test_a_message_that_cannot_be_judged_is_asked_about_and_holds_up_none(store: Store) -> None:
    # Given that what the router looks up of tasks and works cannot be read
    world, _ = scripted(store, verdict("main"))
    task = world.task("Posters")
    with store.database.unscoped() as connection:
        connection.exec_driver_sql("ALTER TABLE object_tasks RENAME TO elsewhere")
    first = world.say("make it blue")
    for attempt in range(judgement.ATTEMPTS_BEFORE_ASKING):
        with pytest.raises(DBAPIError) as caught:
            judgement.judge_message(world.dependencies, world.workspace_id, first.id, attempt)
    failed = type(caught.value).__name__
    # When it was tried often enough
    assert (
        judgement.judge_message(world.dependencies, world.workspace_id, first.id, judgement.ATTEMPTS_BEFORE_ASKING)
        == "ask"
    )
    # Then the person is asked, and told why, and the next message is looked at
    world.route(first)
    assert world.stored_route(first)["reasons"] == [f"judging failed: {failed}"]
    assert [one["task_id"] for one in world.stored_route(first)["candidates"]] == [task.id]
    with store.database.reading(store.workspace_id) as scope:
        (card,) = cards.list_open_cards(scope)
    assert [one["id"] for one in card.options] == [task.id, "new"]
    with store.database.unscoped() as connection:
        connection.exec_driver_sql("ALTER TABLE elsewhere RENAME TO object_tasks")
    second = world.say("thanks")
    picked = judgement.pick_message(world.dependencies, world.workspace_id, second.id)
    assert picked == {"message_id": second.id, "decided": False}
