"""The memory as the API, the command line and the page show it."""

from __future__ import annotations

from typing import Any

import pytest

from app.bootstrap import PERSON_ID
from core.identity import create_key
from core.llm.scripted_model import ScriptedModel
from core.search.embedders import HashedPieces
from memory import cascade, correcting, scopes, writing
from memory.card_answers import MEMORY_CARD_ANSWERS
from memory.dependencies import MemoryDependencies
from memory.writing import FactSource, FactStatement
from runtime.cards import cards
from runtime.cards.answers import CardAnswers, answer_card
from runtime.inbox import messages
from runtime.statuses import CardKind
from tests.web.site.site import Site

ANSWERS = CardAnswers(MEMORY_CARD_ANSWERS)


def remember(site: Site, text: str, *, within: str = "", said: str = "", confirms: bool = False) -> str:
    """A fact and the message it comes from, as the function stores them; answers the fact's id."""
    [vector] = HashedPieces().embed([text])
    with site.writing() as scope:
        message = messages.receive_message(
            scope, person_id=site.person_id, asked_by="person", channel_id=None, text=said or text
        )
        statement = FactStatement(text, vector, "stated", scope.now)
        sources = [FactSource("message", message.id)]
        where = within or scopes.of_person(site.person_id)
        fact = writing.create_fact(scope, within=where, person_id=site.person_id, said=statement, sources=sources)
        assert fact is not None
        if confirms:
            again = messages.receive_message(
                scope, person_id=site.person_id, asked_by="person", channel_id=None, text="yes"
            )
            writing.confirm_fact(scope, fact, [FactSource("message", again.id)])
    return fact.id


def key_of(site: Site, *scopes_given: str, speaks_as: str = "person", person_id: str = PERSON_ID) -> dict[str, str]:
    with site.writing() as scope:
        raw = f"raw-{speaks_as}-{'-'.join(scopes_given)}"
        create_key(scope, person_id=person_id, name="k", scopes=list(scopes_given), speaks_as=speaks_as, raw=raw)
    return {"Authorization": f"Bearer {raw}"}


def test_what_is_remembered_is_listed_with_versions_evidence_scope_and_validity(site: Site) -> None:
    assert site.get("/api/v1/memory") == {"items": [], "next": None}
    fact_id = remember(site, "Our colour is cobalt", within=scopes.WORKSPACE, confirms=True)

    [listed] = site.get("/api/v1/memory")["items"]

    assert listed == site.get(f"/api/v1/memory/{fact_id}")
    assert (listed["id"], listed["text"], listed["scope"], listed["standing"], listed["state"]) == (
        fact_id, "Our colour is cobalt", "workspace", "stated", "known",
    )  # fmt: skip
    assert [(one["version"], one["text"]) for one in listed["versions"]] == [(1, "Our colour is cobalt")]
    assert [(one["role"], one["kind"], one["eligible"]) for one in listed["evidence"]] == [
        ("origin", "message", True), ("confirm", "message", True),
    ]  # fmt: skip
    assert (
        site.get(f"/api/v1/messages/{listed['evidence'][0]['message_id']}")["id"] == listed["evidence"][0]["message_id"]
    )
    assert listed["validity"]["to"] is None


def test_a_question_finds_what_fits_and_pages_are_followed(site: Site) -> None:
    for n in range(5):
        remember(site, f"Gull number {n} has a red beak")
    remember(site, "Letters are big")

    assert [one["text"] for one in site.get("/api/v1/memory", q="letters")["items"]] == ["Letters are big"]
    first = site.get("/api/v1/memory", limit="4")
    second = site.get("/api/v1/memory", limit="4", cursor=first["next"])
    assert (len(first["items"]), len(second["items"]), second["next"]) == (4, 2, None)
    assert len({one["id"] for one in first["items"] + second["items"]}) == 6


def test_what_held_at_a_time(site: Site) -> None:
    remember(site, "Our colour is cobalt")
    [listed] = site.get("/api/v1/memory")["items"]

    assert site.get("/api/v1/memory", at=listed["created_at"])["items"] == [listed]
    assert site.get("/api/v1/memory", at="2001-01-01T00:00:00Z")["items"] == []
    assert site.client.get("/api/v1/memory", params={"at": "yesterday"}).status_code == 422


def test_a_correction_is_the_next_version(site: Site) -> None:
    fact_id = remember(site, "Our colour is cobalt")

    answer = site.post(f"/api/v1/memory/{fact_id}/correct", {"text": "Our colour is navy"}, **{"Idempotency-Key": "k"})
    again = site.post(f"/api/v1/memory/{fact_id}/correct", {"text": "Our colour is navy"}, **{"Idempotency-Key": "k"})

    assert (answer.status_code, answer.json()) == (200, again.json())
    assert (answer.json()["version"], answer.json()["text"]) == (2, "Our colour is navy")
    assert [one["text"] for one in answer.json()["versions"]] == ["Our colour is navy", "Our colour is cobalt"]
    assert site.post(f"/api/v1/memory/{fact_id}/correct", {"text": " "}).status_code == 422
    assert site.post("/api/v1/memory/fact_made_up/correct", {"text": "x"}).status_code == 404


def test_who_asks_twice_to_forget_gets_the_same_card_among_however_many(site: Site) -> None:
    # Given more open cards than a list of them shows
    fact_id = remember(site, "Our colour is cobalt")
    with site.writing() as scope:
        for n in range(60):
            cards.open_card(
                scope,
                kind=CardKind.IRREVERSIBLE,
                title=f"Delete work {n}?",
                body="",
                options=cards.IRREVERSIBLE_OPTIONS,
                cause=f"delete:{n}",
            )

    # When it is asked twice, then there is one card
    asked = [site.post(f"/api/v1/memory/{fact_id}/forget").json()["card_id"] for _ in range(2)]
    assert asked[0] == asked[1]


def test_forgetting_opens_a_card_and_the_receipt_says_what_became_of_it(site: Site) -> None:
    fact_id = remember(site, "Our colour is cobalt")
    other = remember(site, "Letters are big")

    response = site.post(f"/api/v1/memory/{fact_id}/forget")
    again = site.post(f"/api/v1/memory/{fact_id}/forget")

    assert response.status_code == 202
    assert again.json() == response.json()
    card = _card(site, response.json()["card_id"])
    assert (card["state"], card["kind"], [one["id"] for one in card["options"]]) == (
        "open", "irreversible", ["confirm", "keep"],
    )  # fmt: skip
    assert "cobalt" in card["body"]
    receipt = f"/api/v1/memory/receipts/{card['id']}"
    assert site.client.get(receipt).status_code == 404

    with site.writing() as scope:
        answer_card(scope, card["id"], "confirm", None, site.person_id, ANSWERS)
    assert [one["id"] for one in site.get("/api/v1/memory")["items"]] == [other]
    assert site.get(receipt)["state"] == "requested"
    dependencies = MemoryDependencies(site.dependencies.database, ScriptedModel(), site.dependencies.search)
    cascade.clear_forgotten(dependencies, site.workspace_id, card["id"])

    body = site.get(receipt)
    assert (body["state"], body["fact_ids"], body["counts"]["versions"]) == ("cleared", [fact_id], 1)
    gone = site.get(f"/api/v1/memory/{fact_id}")
    assert (gone["state"], gone["text"], gone["versions"][0]["text"]) == ("forgotten", None, None)
    assert site.post(f"/api/v1/memory/{fact_id}/forget").status_code == 404
    assert "cobalt" not in str(_card(site, card["id"]))


def _card(site: Site, card_id: str) -> dict[str, Any]:
    every = [one for state in ("open", "answered") for one in site.get("/api/v1/cards", state=state)["items"]]
    return next(one for one in every if one["id"] == card_id)


def test_what_is_another_persons_is_not_there_and_a_program_corrects_nothing(site: Site) -> None:
    theirs = remember(site, "Is never called at night", within=scopes.of_person("person_other"))
    mine = remember(site, "Our colour is cobalt")
    program = key_of(site, "read", "write", speaks_as="program")
    reader = key_of(site, "read")

    assert [one["id"] for one in site.get("/api/v1/memory")["items"]] == [mine]
    found = site.get("/api/v1/memory", q="called at night")["items"]
    assert theirs not in [one["id"] for one in found]
    for path in (f"/api/v1/memory/{theirs}", f"/memory?q={theirs}"):
        assert "called at night" not in site.client.get(path).text
    assert site.client.get(f"/api/v1/memory/{theirs}").status_code == 404
    assert site.post(f"/api/v1/memory/{theirs}/forget").status_code == 404
    assert site.post(f"/api/v1/memory/{theirs}/correct", {"text": "x"}).status_code == 404
    assert site.post(f"/api/v1/memory/{mine}/correct", {"text": "x"}, **program).status_code == 403
    assert site.post(f"/api/v1/memory/{mine}/forget", None, **reader).status_code == 403
    assert site.post("/api/v1/memory/reindex", None, **program).status_code == 403


def test_an_index_that_is_away_is_said_and_no_error(site: Site) -> None:
    remember(site, "Our colour is cobalt")

    assert site.post("/api/v1/memory/reindex").json() == {"state": "away"}


@pytest.mark.parametrize("query", ["x" * 20_000, "%_'\";--", "🙂", "cobalt <script>"])
def test_strange_questions_find_nothing_and_break_nothing(site: Site, query: str) -> None:
    remember(site, "Our colour is cobalt")

    assert site.client.get("/api/v1/memory", params={"q": query}).status_code in (200, 414)


def test_the_page_shows_each_fact_with_the_words_it_comes_from(site: Site) -> None:
    remember(
        site, "The <b>colour</b> is cobalt", said="please <script>alert(1)</script> remember cobalt", confirms=True
    )
    fact_id = remember(site, "Letters are big")
    [vector] = HashedPieces().embed(["Letters are huge"])
    with site.writing() as scope:
        correcting.correct_fact(scope, fact_id, "Letters are huge", vector, site.person_id, "cause")

    page = site.client.get("/memory", headers={"Accept": "text/html"}).text

    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "your correction" in page
    assert "Version 1:" in page
    assert f'data-fact-id="{fact_id}"' in page
    found = site.client.get("/memory", params={"q": "huge"}).text
    assert ("Letters are huge" in found, "cobalt" in found) == (True, False)
    assert "Nothing fits" in site.client.get("/memory", params={"q": "zebra"}).text


def test_the_page_asks_what_is_open_about_the_memory(site: Site) -> None:
    fact_id = remember(site, "Our colour is cobalt")
    card_id = site.post(f"/api/v1/memory/{fact_id}/forget").json()["card_id"]

    assert f'data-card="{card_id}"' in site.client.get("/memory").text
