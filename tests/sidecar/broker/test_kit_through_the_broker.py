"""Each name of the kit, through a real socket to the broker and what is behind it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Literal

import pytest
from pydantic import BaseModel

from core.llm.port import TokenUsage
from core.llm.scripted_model import says
from core.search.embedders import HashedPieces
from memory import scopes, writing
from memory.writing import FactStatement
from runtime import notices
from runtime.cards import cards
from runtime.cards.answers import CardAnswers, answer_card
from runtime.inbox import messages
from skills.book import claims, outcomes, runs
from skills.card_answers import SKILL_CARD_ANSWERS
from skills.kit import LimitReached, Refused, Unavailable, ask_agent, claim, http, llm, memory, notify, release, secrets
from skills.kit import runs as own_runs
from skills.kit.door import OutsideError
from skills.lifecycle import model_budget
from tests.support.databases import Store
from tests.support.http_servers import Request, Response, http_server
from tests.support.skill_world import RUN, SkillWorld, raw, skill_world, speak_for
from tests.support.waiting import until


class Health(BaseModel):
    state: Literal["normal", "degraded"]


def test_a_page_is_fetched_with_its_parameters_and_a_secret_that_the_skill_never_sees(world: SkillWorld) -> None:
    world.secrets.set("TOKEN", "s3cret-value")
    with http_server(
        lambda request: Response(body=json.dumps({"you sent": request.headers["authorization"]}).encode())
    ) as metrics:
        world.speak_as("watch", hosts=[metrics.address], secrets={"TOKEN": metrics.address})

        headers = {"Authorization": f"Bearer {secrets['TOKEN']}"}
        answer = http.get(f"{metrics.url}/api?old=1", params={"q": "up", "n": ["1", "2"]}, headers=headers)

    assert metrics.requests[0].path == "/api?q=up&n=1&n=2"
    assert metrics.requests[0].headers["authorization"] == "Bearer s3cret-value"
    assert answer.json() == {"you sent": "Bearer {{secret:TOKEN}}"}
    assert "s3cret" not in _recorded(world, "watch")


def test_what_is_posted_arrives_as_it_is_and_a_repeat_carries_the_same_key(world: SkillWorld) -> None:
    with http_server(lambda _: Response(201, b"made")) as shop:
        world.speak_as("watch", hosts=[shop.address])
        answers = [http.post(f"{shop.url}/orders", json={"n": 1}) for _ in range(2)]
        other = http.post(f"{shop.url}/orders", json={"n": 2}, headers={"Idempotency-Key": "mine"})

    assert [(one.status, one.text) for one in answers] == [(201, "made"), (201, "made")]
    assert shop.requests[0].body == b'{"n": 1}'
    keys = [one.headers["idempotency-key"] for one in shop.requests]
    assert keys[0] == keys[1]
    assert keys[2] == "mine"
    assert other.raise_for_status() is other


def test_a_status_says_whether_to_try_again(world: SkillWorld) -> None:
    with http_server(lambda request: Response(int(request.path[1:]), b"said")) as server:
        world.speak_as("watch", hosts=[server.address])
        with pytest.raises(Unavailable, match="503: said"):
            http.get(f"{server.url}/503").raise_for_status()
        with pytest.raises(Refused, match="404: said"):
            http.get(f"{server.url}/404").raise_for_status()


def test_a_server_that_is_not_there_may_be_asked_again(world: SkillWorld) -> None:
    with http_server() as gone:
        pass
    world.speak_as("watch", hosts=[gone.address])

    with pytest.raises(Unavailable, match="could not be asked"):
        http.get(gone.url)


def test_a_redirect_within_the_host_is_followed_as_browsers_do(world: SkillWorld) -> None:
    def respond(request: Request) -> Response:
        return (
            Response(303, b"", {"location": "/done"})
            if request.path == "/start"
            else Response(body=request.method.encode())
        )

    with http_server(respond) as server:
        world.speak_as("watch", hosts=[server.address])
        answer = http.post(f"{server.url}/start", json={})

    assert answer.text == "GET"


def test_the_model_answers_in_words_or_in_a_shape_and_its_cost_is_written_down(world: SkillWorld) -> None:
    world.speak_as("watch", model_budget_per_day="0.50")
    world.model._verdicts = [{"state": "degraded"}]
    world.model._script = [says("All is well.")]

    health = llm("How is it?", name="health", schema=Health, facts={"latency": 3})
    words = llm("In words?", max_tokens=10)

    assert health.state == "degraded"
    assert words == "All is well."
    asked = world.model.requests[0][0][-1]["content"]
    assert asked.endswith('<facts>\n{"latency": 3}\n</facts>')
    with world.reading() as scope:
        spent = model_budget.spent_on(scope, "watch", world.store.clock.now().date())
    assert Decimal(0) < spent < Decimal("0.01")


def test_the_same_question_in_the_same_run_is_asked_once(world: SkillWorld) -> None:
    world.speak_as("watch", model_budget_per_day="0.50")
    world.model._script = [says("once")]

    assert [llm("Well?"), llm("Well?")] == ["once", "once"]
    assert len(world.model.requests) == 1


def test_a_question_that_is_still_being_answered_is_not_asked_again(world: SkillWorld) -> None:
    """Given a call that lost its process while the model thought, when it is made again, one answer is for both."""
    world.speak_as("watch", model_budget_per_day="0.50")
    world.model._script = [says("once")]

    with ThreadPoolExecutor(2) as calls:
        with world.model._lock:
            answers = [calls.submit(llm, "Well?") for _ in range(2)]
            until("both have asked", lambda: world.broker._asking_model._wanted.total() == 2, 30)
        assert [answer.result(30) for answer in answers] == ["once", "once"]
    assert len(world.model.requests) == 1


def test_settling_follows_what_the_model_counted(world: SkillWorld) -> None:
    world.speak_as("watch", model_budget_per_day="0.50")
    decision = says("counted")
    world.model._script = [type(decision)(decision.text, (), "m", TokenUsage(3000, 0, 1000, 2000))]

    llm("Count.")

    with world.reading() as scope:
        assert model_budget.spent_on(scope, "watch", world.store.clock.now().date()) == Decimal("0.005")


def test_a_question_beyond_the_budget_waits_for_a_person_and_goes_on_after_a_yes(world: SkillWorld) -> None:
    # Given a budget that covers no question
    world.speak_as("watch", model_budget_per_day="0.001")
    world.model._script = [says("at last")]

    # When it is asked, a person is too, and the engine hears when to try again
    with pytest.raises(LimitReached) as waiting:
        llm("Well?")
    assert isinstance(waiting.value, Unavailable)
    again = waiting.value.retry_after
    assert timedelta(minutes=10) < again - datetime.now(again.tzinfo) < timedelta(minutes=20)
    assert world.refused("watch") == []
    with world.store.database.transaction(world.store.workspace_id) as scope:
        (card,) = cards.list_open_cards(scope)
        answer_card(
            scope,
            card.id,
            "raise",
            None,
            world.store.person_id,
            CardAnswers(SKILL_CARD_ANSWERS),
        )

    # Then the same question is answered at the next try
    assert llm("Well?") == "at last"


def test_a_no_to_more_money_is_a_refusal(world: SkillWorld) -> None:
    world.speak_as("watch", model_budget_per_day="0.001")
    with pytest.raises(LimitReached):
        llm("Well?")
    with world.store.database.transaction(world.store.workspace_id) as scope:
        (card,) = cards.list_open_cards(scope)
        answer_card(
            scope,
            card.id,
            "stop",
            None,
            world.store.person_id,
            CardAnswers(SKILL_CARD_ANSWERS),
        )
    with pytest.raises(Refused, match="left it at that"):
        llm("Well?")
    assert world.model.requests == []


def test_a_notice_is_stored_once_for_its_channel_and_a_question_becomes_a_fact(world: SkillWorld) -> None:
    world.speak_as("watch", notify=["ops"])
    for _ in range(2):
        notify("ops", "checkout is slow", ask=("real", "false alarm"))
    with world.store.database.transaction(world.store.workspace_id) as scope:
        (notice,) = notices.list_newest_notices(scope)
        (card,) = cards.list_open_cards(scope)
        answer_card(scope, card.id, "false alarm", None, world.store.person_id, CardAnswers(SKILL_CARD_ANSWERS))
        (fact,) = outcomes.list_outcomes(scope, "watch")

    assert (notice.channel, notice.audience, notice.text) == ("ops", "ops", "[skill watch] checkout is slow")
    assert (fact.run_id, fact.kind, fact.value, fact.by) == (RUN, "answer", "false alarm", world.store.person_id)


def test_a_key_names_a_notice_in_all_runs_and_no_key_in_this_run(world: SkillWorld) -> None:
    address = world.speak_as("watch", notify=["ops"])
    for run_id in ("run1", "run2"):
        world.begin("watch", run_id)
        speak_for(address, run_id)
        notify("ops", "by key", key="today")
        notify("ops", "by words")

    with world.reading() as scope:
        texts = sorted(one.text.removeprefix("[skill watch] ") for one in notices.list_newest_notices(scope))
    assert texts == ["by key", "by words", "by words"]


def test_the_agent_is_asked_as_a_program_and_once(world: SkillWorld) -> None:
    world.speak_as("watch", ask_agent=True)

    ids = {ask_agent("Look at checkout") for _ in range(2)}
    keyed = {ask_agent(text, key="checkout") for text in ("It is down", "It is down since 9:41")}
    assert len(keyed) == 1

    with world.reading() as scope:
        message = messages.get_message(scope, ids.pop())
    assert not ids
    assert (message.asked_by, message.text) == ("program", "[skill watch] Look at checkout")


def test_runs_are_the_skills_own(world: SkillWorld) -> None:
    world.begin("other", "other-run")
    world.begin("watch", RUN)
    with world.store.database.transaction(world.store.workspace_id) as scope:
        runs.record_run_end(scope, RUN, "completed", output={"n": 1})
    world.speak_as("watch", run_id="later")

    found = {run.run_id: (run.status, run.output) for run in own_runs()}

    assert found == {RUN: ("completed", {"n": 1}), "later": ("running", None)}


def test_one_run_at_a_time_holds_a_claim(world: SkillWorld) -> None:
    address = world.speak_as("watch", run_id="a")
    world.begin("watch", "b")

    assert [claim("triage:shop"), claim("triage:shop")] == [True, True]
    speak_for(address, "b")
    assert claim("triage:shop") is False
    assert release("triage:shop") is False
    assert release("triage:shop", run_id="a") is True
    assert claim("triage:shop") is True
    with world.store.database.transaction(world.store.workspace_id) as scope:
        runs.record_run_end(scope, "b", "failed")
        assert claims.holder(scope, "watch", "triage:shop") is None
    speak_for(address, "a")
    assert claim("triage:shop") is True


def _remember(world: SkillWorld, within: str, text: str) -> str:
    [vector] = HashedPieces().embed([text])
    said = FactStatement(text, vector, "stated", world.store.clock.now())
    with world.store.database.transaction(world.store.workspace_id) as scope:
        fact = writing.create_fact(scope, within=within, person_id=world.store.person_id, said=said, sources=[])
    assert fact is not None
    return fact.id


def test_memory_finds_what_holds_for_the_workspace_and_nothing_of_a_person(world: SkillWorld) -> None:
    shared = _remember(world, scopes.WORKSPACE, "The checkout team is called at night only when it burns")
    _remember(world, scopes.of_person(world.store.person_id), "Is never called at night")
    _remember(world, scopes.of_task("task_1"), "The checkout picture is called Night")
    world.speak_as("watch", memory="read")

    found = memory.search("who is called at night?", limit=5)

    assert [(one.id, one.standing) for one in found] == [(shared, "stated")]
    assert "when it burns" in found[0].text
    assert memory.search("zebra") == []
    assert world.refused("watch") == []


@pytest.mark.parametrize(("query", "limit"), [("", 5), ("x", 0), ("x", 1000), ("x" * 5000, 5)])
def test_a_strange_question_to_the_memory_is_refused_as_malformed(world: SkillWorld, query: str, limit: int) -> None:
    world.speak_as("watch", memory="read")

    with pytest.raises(Refused, match="malformed"):
        memory.search(query, limit)


def test_a_home_may_be_far_down(store: Store, tmp_path: Path) -> None:
    with skill_world(store, tmp_path / ("deep" * 20) / ("deeper" * 20)) as world:
        world.speak_as("watch")

        assert [one.run_id for one in own_runs()] == [RUN]


def test_the_kit_explains_itself_outside() -> None:
    with pytest.raises(OutsideError, match=r"skills\.kit\.llm works only while Loopwright runs the skill"):
        llm("Is anybody there?")


@pytest.fixture
def engine_world(store: Store, tmp_path: Path) -> Iterator[tuple[SkillWorld, list[Request]]]:
    with (
        http_server(lambda _: Response(body=b'{"ids": ["e1"], "status": 200}')) as engine,
        skill_world(store, tmp_path / "h", engine_url=engine.url) as made,
    ):
        yield made, engine.requests


def test_events_go_out_under_ids_of_the_skills_own(engine_world: tuple[SkillWorld, list[Request]]) -> None:
    world, sent = engine_world
    address = world.speak_as("watch", events={"send": ["shop/slow"]})
    body = [{"name": "shop/slow", "data": {"n": 1, "_inngest": {"fn_id": "x"}}, "id": "", "ts": 0}]
    with raw(address) as client:
        answers = [client.post("/e/any-key", json=body, headers={"x-run-id": RUN}).json() for _ in range(2)]

    assert answers == [{"ids": ["e1"], "status": 200}] * 2
    (first,), (second,) = (json.loads(one.body) for one in sent)
    assert first == second
    assert (first["name"], first["data"]) == ("shop/slow", {"n": 1})
    assert first["id"].startswith("skill:event:")


def _recorded(world: SkillWorld, stem: str) -> str:
    return "".join(file.read_text() for file in (world.home / "sidecar" / "recordings" / stem).iterdir())
