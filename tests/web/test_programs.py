"""What a program's key may not do in its person's name, and whose words are whose; on SQLite and PostgreSQL."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence

import httpx
import pytest

from core import identity
from core.tools import Effect
from runtime.cards import cards
from runtime.cards.answers import answer_card_in_words
from runtime.cards.cards import CHECKPOINT_OPTIONS, RESULT_OPTIONS
from runtime.inbox import inbox, messages
from runtime.limits import guard
from runtime.limits.autonomy import AUTONOMY_LEVELS
from runtime.statuses import CardKind, InputKind, MessageState
from runtime.tasks import tasks
from tests.web.site.site import Site
from tests.web.test_access import bearer, new_key
from tests.web.test_messages import make_task


@pytest.fixture(name="at", params=["site", pytest.param("postgres_site", marks=pytest.mark.postgres)])
def at_each_database(request: pytest.FixtureRequest) -> Site:
    found: Site = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def program(at: Site) -> Iterator[httpx.Client]:
    """A key of the local owner with every scope that speaks as a program."""
    headers = bearer(new_key(at, identity.SCOPES, speaks_as="program"))
    with httpx.Client(base_url=at.url, trust_env=False, headers=headers) as client:
        yield client


@pytest.mark.boundary(41)
def test_message_that_a_program_puts_in_place_of_a_persons_is_the_programs(at: Site, program: httpx.Client) -> None:
    # Given a message of the person that nobody has read
    message_id = at.say("a small poster")

    # When a program replaces it, and the person that one
    fresh = program.post(f"/api/v1/messages/{message_id}/replace", json={"text": "a hundred films"}).json()
    again = at.post(f"/api/v1/messages/{fresh['id']}/replace", {"text": "all that, and a hat"}).json()

    # Then neither passes for the person's own
    assert (fresh["text"], fresh["asked_by"]) == ("a hundred films", "program")
    assert again["asked_by"] == "program"


def test_a_task_whose_goal_a_program_has_put_is_a_programs(at: Site, program: httpx.Client) -> None:
    # Given a task that was made of a person's words, which nobody has read
    message_id = at.say("a small poster")
    task_id = make_task(at, message_id)
    with at.writing() as scope:
        tasks.set_task_fields(scope, task_id, goal="a small poster")
        messages.set_message_state(
            scope, message_id, MessageState.DELIVERED, was=(MessageState.RECEIVED,), task_id=task_id
        )
        inbox.deliver_input(scope, task_id, InputKind.MESSAGE, message_id)

    # When a program puts others in their place
    program.post(f"/api/v1/messages/{message_id}/replace", json={"text": "a hundred films"})

    # Then its goal is those, and each paid act is asked about
    with at.dependencies.database.reading(at.workspace_id) as scope:
        task = tasks.get_task(scope, task_id)
        assert (task.goal, task.asked_by) == ("a hundred films", "program")
    assert _asked_by(at, task_id) == "program"


def test_another_members_words_are_theirs(at: Site) -> None:
    # Given words of the owner and a member of the workspace
    message_id = at.say("a small poster")
    headers = bearer(new_key(at, identity.SCOPES, role="member"))

    # When the member takes them back, replaces or moves them
    with httpx.Client(base_url=at.url, trust_env=False, headers=headers) as member:
        answers = [
            member.post(f"/api/v1/messages/{message_id}/withdraw", json={}),
            member.post(f"/api/v1/messages/{message_id}/replace", json={"text": "mine"}),
            member.post(f"/api/v1/messages/{message_id}/reroute", json={"task_id": "new"}),
        ]
        theirs = member.post("/api/v1/messages", json={"text": "my own"}).json()["message_id"]
        own = member.post(f"/api/v1/messages/{theirs}/replace", json={"text": "my own, better"})
        last = own.json()["id"]

    # Then each is refused with its reason and nothing has changed
    assert [answer.status_code for answer in answers] == [403, 403, 403]
    assert all("another person" in answer.json()["detail"] for answer in answers)
    assert at.get(f"/api/v1/messages/{message_id}")["state"] == "received"
    # And their own they do replace, and an owner may take any back
    assert own.status_code == 200
    assert at.post(f"/api/v1/messages/{last}/withdraw").json()["state"] == "withdrawn"


def _asked_by(at: Site, task_id: str) -> str:
    with at.dependencies.database.reading(at.workspace_id) as scope:
        facts = guard.gather_call_facts(
            scope, effect=Effect.PAID, person_id=at.person_id, asked_by="person", task_id=task_id
        )
        return facts.asked_by


@pytest.mark.boundary(41)
@pytest.mark.parametrize(
    ("kind", "options", "option"),
    [
        ("checkpoint", CHECKPOINT_OPTIONS, "adjust"),
        ("result", RESULT_OPTIONS, "change"),
        ("choice", ({"id": "five films", "label": "Five films"},), "five films"),
        ("clarify", ({"id": "b", "label": "B"},), "b"),
    ],
)
def test_task_that_reads_a_programs_answer_is_no_longer_the_persons_alone(
    at: Site, program: httpx.Client, kind: str, options: Sequence[dict[str, str]], option: str
) -> None:
    # Given a person's task that asks, and whose next acts would go on the person's free allowance
    task_id = make_task(at, uuid.uuid4().hex)
    with at.writing() as scope:
        card = cards.open_card(
            scope,
            kind=CardKind(kind),
            title="Which?",
            body="",
            options=options,
            cause=f"ask:{task_id}",
            task_id=task_id,
        )

    # When a program answers in words and a step reads them
    said = {"option": option, "text": "make five films"}
    answered = program.post(f"/api/v1/cards/{card.id}/answer", json=said).json()
    before = _asked_by(at, task_id)
    with at.writing() as scope:
        inbox.deliver_input(scope, task_id, InputKind.ANSWER, card.id)
        inbox.claim_inbox(scope, task_id, "turn_1", 1)

    # Then what the task orders from then on is a program's
    assert answered["answer"]["as"] == "program"
    assert (before, _asked_by(at, task_id)) == ("person", "program")


def test_a_persons_answer_leaves_the_task_theirs(at: Site) -> None:
    task_id = make_task(at, uuid.uuid4().hex)
    with at.writing() as scope:
        card = cards.open_card(
            scope,
            kind=CardKind.CHECKPOINT,
            title="Go on?",
            body="",
            options=CHECKPOINT_OPTIONS,
            cause=f"ask:{task_id}",
            task_id=task_id,
        )
    answered = at.post(f"/api/v1/cards/{card.id}/answer", {"option": "adjust", "text": "smaller"}).json()
    with at.writing() as scope:
        inbox.claim_inbox(scope, task_id, "turn_1", 1)
    assert answered["answer"]["as"] == "person"
    assert _asked_by(at, task_id) == "person"


def test_a_program_says_nothing_about_money_or_keys(at: Site, program: httpx.Client) -> None:
    # When a program's key with every scope widens what may be spent, or makes itself a person
    before = at.get("/api/v1/budget")
    spending = program.put("/api/v1/budget", json={"free_per_operation": "1000", "balance": "99999"})
    voices = [
        program.post("/api/v1/keys", json={"name": "mine", "scopes": ["read"]}),
        program.post("/api/v1/keys", json={"name": "mine", "scopes": ["read"], "speaks_as": "person"}),
        program.delete(f"/api/v1/keys/{at.get('/api/v1/keys')['items'][0]['id']}"),
        program.patch(
            f"/api/v1/tasks/{make_task(at, uuid.uuid4().hex)}", json={"autonomy": AUTONOMY_LEVELS[-1], "budget": "1000"}
        ),
    ]

    # Then each is refused, and nothing has changed
    assert spending.status_code == 403
    assert "person" in spending.json()["detail"]
    assert at.get("/api/v1/budget") == before
    assert [answer.status_code for answer in voices] == [403] * len(voices)
    assert all(key["revoked_at"] is None for key in at.get("/api/v1/keys")["items"])


def test_a_program_hands_on_no_more_than_it_has(at: Site) -> None:
    # Given a program's key that administers but approves nothing
    headers = bearer(new_key(at, ["read", "write", "admin"], speaks_as="program"))
    with httpx.Client(base_url=at.url, trust_env=False, headers=headers) as narrow:
        # When it makes keys, and takes away its own
        more = narrow.post("/api/v1/keys", json={"name": "x", "scopes": ["approve"], "speaks_as": "program"})
        same = narrow.post("/api/v1/keys", json={"name": "x", "scopes": ["read"], "speaks_as": "program"})
        mine = next(key for key in at.get("/api/v1/keys")["items"] if key["scopes"] == ["read", "write", "admin"])
        gone = narrow.delete(f"/api/v1/keys/{mine['id']}")

    # Then only what it has is handed on
    assert (more.status_code, same.status_code, gone.status_code) == (403, 201, 200)


def test_what_a_program_writes_is_a_programs_work(at: Site, program: httpx.Client) -> None:
    made = program.post("/api/v1/objects", json={"title": "Brief", "content": "five films"}).json()
    mine = at.post("/api/v1/objects", {"title": "Brief", "content": "one poster"}).json()
    assert made["created_by"].startswith("program:")
    assert mine["created_by"].startswith("person:")


def test_a_program_approves_no_plan(at: Site, program: httpx.Client) -> None:
    # Given a task that has had two setbacks and stands at the checkpoint of its plan
    task_id = make_task(at, uuid.uuid4().hex)
    with at.writing() as scope:
        tasks.set_task_fields(scope, task_id, setbacks=2)
        card = cards.open_card(
            scope,
            kind=CardKind.CHECKPOINT,
            title="Go on?",
            body="",
            options=CHECKPOINT_OPTIONS,
            cause=f"ask:{task_id}",
            task_id=task_id,
            subject={"plan": 3},
        )

    # When a program lets it pass
    program.post(f"/api/v1/cards/{card.id}/answer", json={"option": "continue"})

    # Then no plan is approved by it and no confidence is given back
    with at.dependencies.database.reading(at.workspace_id) as scope:
        task = tasks.get_task(scope, task_id)
        assert (task.approved_plan, task.setbacks) == (0, 2)


def test_the_router_takes_a_programs_words_for_a_programs_answer(at: Site) -> None:
    # Given a task's question
    task_id = make_task(at, uuid.uuid4().hex)
    with at.writing() as scope:
        card = cards.open_card(
            scope, kind=CardKind.CLARIFY, title="Which?", body="", options=(), cause=f"ask:{task_id}", task_id=task_id
        )
        message = messages.receive_message(
            scope, person_id=at.person_id, asked_by="program", channel_id=None, text="blue", to_card_id=card.id
        )
        # When it is closed by words
        answer_card_in_words(scope, card, None, message.text, message.person_id, speaks_as=message.asked_by)

        # Then the card says whose they were
        assert cards.get_card(scope, card.id).answered_as == "program"


def test_a_client_id_is_one_request_of_one_speaker(at: Site, program: httpx.Client) -> None:
    first = at.say("hello", client_id="tab-1:1")
    said = [
        program.post("/api/v1/messages", json={"text": text, "client_id": "tab-1:1"}) for text in ("hello", "films")
    ]
    assert [answer.status_code for answer in said] == [409, 409]
    assert at.say("hello", client_id="tab-1:1") == first
