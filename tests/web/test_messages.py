"""Messages over HTTP: what is taken, what is refused, and what is answered."""

from __future__ import annotations

import re

import httpx
import pytest

from core import identity
from generation.tables import orders
from runtime.cards import cards
from runtime.commands import control
from runtime.inbox import messages
from runtime.statuses import CardKind, MessageState
from runtime.tables import messages as message_rows
from runtime.tasks import tasks
from tests.web.site.site import Site
from tests.web.site.turn_rows import insert_running_order, insert_turn
from tests.web.test_access import bearer, new_key


def make_task(site: Site, cause: str = "test") -> str:
    with site.writing() as scope:
        task = tasks.create_task(
            scope,
            kind="persistent",
            goal="Three posters",
            language="en",
            person_id=site.person_id,
            asked_by="person",
            cause=cause,
        )
        return task.id


@pytest.mark.case("B56")
@pytest.mark.parametrize("text", ["🎨🎉", "اجعل الملصق أزرق داكنًا", "a" * 500_000, "line\nline"])
def test_a_message_is_stored_before_it_is_answered(site: Site, text: str) -> None:
    # When it is posted
    message_id = site.say(text)

    # Then it is there, word for word, and waits to be routed
    stored = site.get(f"/api/v1/messages/{message_id}")
    assert stored["text"] == text
    assert (stored["state"], stored["route"], stored["consumed_by"], stored["replies"]) == ("received", None, None, [])


@pytest.mark.parametrize(
    ("body", "status", "says"),
    [
        (b"{}", 422, "empty"),
        (b'{"text": "   "}', 422, "empty"),
        (b'{"text": "hi"', 400, "no JSON"),
        (b"[1, 2]", 400, "object"),
        (b'{"text": NaN}', 400, "NaN"),
        (b"\xff\xfe", 400, "UTF-8"),
        (b"[" * 20_000, 400, "nested"),
        (b'{"text": "a", "text": "b"}', 400, "'text' stands twice"),
        (b'{"text": "a\\u0000b"}', 422, "NUL"),
        (b'{"text": "a\\ud800b"}', 422, "surrogate"),
        (b'{"text": 7}', 422, "text"),
        (b'{"text": "hi", "surprise": 1}', 422, "surprise"),
        (b'{"text": "hi", "task_id": "task_none"}', 404, "task_none"),
        (b'{"text": "hi", "object_id": "object_none"}', 404, "object_none"),
        (b'{"text": "hi", "card_id": "card_none"}', 404, "card_none"),
        (b'{"text": "hi", "attachments": ["object_none"]}', 404, "object_none"),
    ],
)
def test_what_cannot_be_taken_is_refused_with_its_reason(site: Site, body: bytes, status: int, says: str) -> None:
    answer = site.client.post("/api/v1/messages", content=body, headers={"Content-Type": "application/json"})

    assert answer.status_code == status, answer.text
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert says in answer.json()["detail"]
    assert site.get("/api/v1/thread")["items"] == []


def test_a_megabyte_of_text_is_answered_and_the_next_message_goes_through(site: Site) -> None:
    # When more is sent than a message holds
    answer = site.post("/api/v1/messages", {"text": "x" * 1024 * 1024})

    # Then the answer says what to do, and nothing else suffers
    assert answer.status_code == 413
    assert "file" in answer.json()["detail"]
    assert answer.json()["limit"] == 1024 * 1024
    site.say("short")


def test_text_longer_than_a_message_holds_is_refused(site: Site) -> None:
    answer = site.post("/api/v1/messages", {"text": "x" * 500_001})

    assert answer.status_code == 422
    assert "500,000" in answer.json()["detail"]


def test_a_body_of_another_type_is_refused(site: Site) -> None:
    answer = site.client.post("/api/v1/messages", content=b"hello", headers={"Content-Type": "text/plain"})

    assert answer.status_code == 415
    assert "application/json" in answer.json()["detail"]


def test_an_archived_task_takes_no_message(site: Site) -> None:
    # Given an archived task
    task_id = make_task(site)
    with site.writing() as scope:
        control.archive_task(scope, task_id)

    # When somebody writes to it
    answer = site.post("/api/v1/messages", {"text": "one more thing", "task_id": task_id})

    # Then the answer says why, and what else to do
    assert answer.status_code == 409
    assert "archived" in answer.json()["detail"]


@pytest.mark.boundary(2)
def test_the_same_client_id_is_one_message(site: Site) -> None:
    first = site.say("hello", client_id="tab-1:1")
    again = site.say("hello", client_id="tab-1:1")

    assert first == again
    assert len(site.get("/api/v1/thread")["items"]) == 1


def test_the_same_client_id_is_no_way_to_lose_a_message(site: Site) -> None:
    # Given a message of the owner under an id of their own, that was routed meanwhile, and a member of the workspace
    task_id = make_task(site)
    first = site.say("hello", client_id="tab-1:1")
    with site.writing() as scope:
        messages.set_message_state(scope, first, MessageState.DELIVERED, was=(MessageState.RECEIVED,), task_id=task_id)
    headers = bearer(new_key(site, identity.SCOPES, role="member"))

    # When other words, the same words to a task, or another person's come under it
    other = site.post("/api/v1/messages", {"text": "hello again", "client_id": "tab-1:1"})
    aimed = site.post("/api/v1/messages", {"text": "hello", "client_id": "tab-1:1", "task_id": task_id})
    with httpx.Client(base_url=site.url, trust_env=False, headers=headers) as member:
        theirs = member.post("/api/v1/messages", json={"text": "hello", "client_id": "tab-1:1"})

    # Then each hears that it was not taken, and a true repeat is the first one still
    for answer in (other, aimed, theirs):
        assert answer.status_code == 409
        assert answer.json()["client_id"] == "tab-1:1"
        assert "new one" in answer.json()["detail"]
    assert site.say("  hello ", client_id="tab-1:1") == first


def test_a_withdrawn_message_says_so_and_a_replaced_one_names_its_successor(site: Site) -> None:
    # Given two messages that nobody has read
    first, second = site.say("blue"), site.say("white")

    # When one is taken back and the other put in other words
    withdrawn = site.post(f"/api/v1/messages/{first}/withdraw").json()
    fresh = site.post(f"/api/v1/messages/{second}/replace", {"text": "dark blue"}).json()

    # Then both say so
    assert withdrawn["state"] == "withdrawn"
    assert fresh["text"] == "dark blue"
    old = site.get(f"/api/v1/messages/{second}")
    assert (old["state"], old["replaced_by"]) == ("replaced", fresh["id"])


def test_the_thread_is_read_in_pages_without_gap_or_repeat(site: Site) -> None:
    # Given seven messages and a task
    sent = [site.say(f"message {n}") for n in range(7)]
    task_id = make_task(site)

    # When the thread is read three at a time
    seen: list[str] = []
    after: str | None = ""
    while after is not None:
        page = site.get("/api/v1/thread", limit="3", **({"after": after} if after else {}))
        assert len(page["items"]) <= 3
        seen += [item["id"] for item in page["items"]]
        after = page["next"]

    # Then everything is there once, in order
    assert seen == [*sent, task_id]


def test_the_end_of_the_thread_shows_a_task_where_it_was_last_spoken_to(site: Site) -> None:
    # Given a task, two messages, and a third that went to it
    task_id = make_task(site)
    first, second, follow_up, later = (site.say(text) for text in ("a", "b", "warmer", "c"))
    with site.writing() as scope:
        messages.set_message_state(
            scope, follow_up, MessageState.DELIVERED, was=(MessageState.RECEIVED,), task_id=task_id
        )

    # When the thread is read from its end, two at a time
    seen: list[str] = []
    before: str | None = ""
    while before is not None:
        page = site.get("/api/v1/thread", newest="1", limit="2", **({"before": before} if before else {}))
        seen = [item["id"] for item in page["items"]] + seen
        before = page["before"]

    # Then the task stands behind that message, once
    assert seen == [first, second, follow_up, task_id, later]


def test_a_cursor_of_somebody_else_is_refused(site: Site) -> None:
    answer = site.client.get("/api/v1/thread", params={"after": "nonsense"})

    assert answer.status_code == 422


@pytest.mark.parametrize("text", ["", " \n\t", "\u200b", "\u200b \u2060\ufeff", "\u2800", "\u3164", "\u202e\u202c"])
def test_a_text_of_which_nothing_is_seen_is_refused_as_empty(site: Site, text: str) -> None:
    answer = site.post("/api/v1/messages", {"text": text})

    assert answer.status_code == 422
    assert "the message is empty" in answer.json()["detail"]
    assert site.get("/api/v1/thread")["items"] == []


@pytest.mark.parametrize("text", ["👍", "👩\u200d🎨", "a\u200b", "שלום", "…"])
def test_a_text_of_which_something_is_seen_stays_as_it_is(site: Site, text: str) -> None:
    message_id = site.say(text)

    assert site.get(f"/api/v1/messages/{message_id}")["text"] == text


def test_the_words_that_answer_where_a_message_belongs_are_parts_of_it(site: Site) -> None:
    # Given a message that a question is open about
    message_id = site.say("make the set warmer")
    with site.writing() as scope:
        card = cards.open_card(
            scope,
            kind=CardKind.CLARIFY,
            title="Which one?",
            body="",
            options=[{"id": "new", "label": "A new task"}],
            cause=f"route:{message_id}",
            message_id=message_id,
        )

    # When it is answered in words, and once in words that are taken back
    answered = site.say("the poster set, and darker too", card_id=card.id)
    site.post(f"/api/v1/messages/{site.say('no', card_id=card.id)}/withdraw")
    site.say("something else")

    # Then the message names the words that are one request with it
    assert site.get(f"/api/v1/messages/{message_id}")["parts"] == [answered]
    assert site.get(f"/api/v1/messages/{answered}")["parts"] == []


def test_message_says_who_read_it_and_which_orders_it_comes_too_late_for(site: Site) -> None:
    # Given a task whose provider is at work on an order, and one order that is to be cancelled
    task_id = make_task(site)
    first = site.say("Three posters, please", task_id=task_id)
    with site.writing() as scope:
        turn_id = insert_turn(scope, task_id, first)
        order_id = insert_running_order(scope, task_id, turn_id)

    # When a person says more
    later = site.say("Warmer, please", task_id=task_id)
    with site.writing() as scope:
        arrived = scope.update(message_rows).where(message_rows.c.id.in_((first, later)))
        scope.change(arrived.values(task_id=task_id, state="delivered"))

    # Then both say how far they came, and the later one what it does not reach
    read, unread = (site.get(f"/api/v1/messages/{message_id}") for message_id in (first, later))
    assert read["consumed_by"]["turn_id"] == turn_id
    assert read["read_at"]
    assert read["calls"]
    assert read["unaffected"] == []
    assert (unread["consumed_by"], unread["read_at"], unread["unaffected"]) == (None, None, [order_id])
    page = site.client.get(f"/tasks/{task_id}").text
    step = read["consumed_by"]["step"]
    assert f"read at step {step}, " in page
    assert f'acted on: <a href="/tasks/{task_id}#{turn_id}-{step}">' in page
    assert f'<li id="{turn_id}-{step}"' in page
    assert page.count("applies from the next one") == 1

    # And an order that was asked to stop is not spoken of as untouched
    with site.writing() as scope:
        scope.change(scope.update(orders).where(orders.c.id == order_id).values(cancel_requested_at=scope.now))
    assert site.get(f"/api/v1/messages/{later}")["unaffected"] == []


def test_of_a_long_text_the_page_shows_the_beginning_and_the_way_to_all_of_it(site: Site) -> None:
    long = "INT. HARBOUR – NIGHT. <Mira> walks.\n" * 10_000 + "END"
    message_id = site.say(long)

    shown = site.client.get("/").text
    [link] = re.findall(r'href="([^"]+)">All 360,003 characters', shown)
    whole = site.client.get(link)

    assert len(shown) < 40_000
    assert whole.text == long
    assert whole.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert whole.headers["X-Content-Type-Options"] == "nosniff"
    assert site.get(f"/api/v1/messages/{message_id}")["text"] == long
    assert site.client.get("/messages/msg_none/text").status_code == 404


def test_of_a_reply_without_end_too(site: Site) -> None:
    with site.writing() as scope:
        reply = messages.store_agent_message(
            scope,
            person_id=site.person_id,
            text="![a](" * 60_000,
            task_id=None,
            reply_to=None,
            cause="endless",
            language="en",
        )

    shown = site.client.get("/").text

    assert len(shown) < 60_000
    assert f'href="/messages/{reply.id}/text">All 300,000 characters' in shown
