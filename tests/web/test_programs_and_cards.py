"""Cards that authorise money, a permission or what cannot be undone are a person's; on SQLite and PostgreSQL."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from uuid import uuid4

import httpx
import pytest
from click.testing import CliRunner

from app.cli import main
from core import identity
from core.errors import RefusedError
from generation.tables import orders
from router import clarification
from runtime.cards import cards
from runtime.cards.answers import PERSON_ONLY, CardAnswers, answer_card
from runtime.cards.cards import (
    CHECKPOINT_OPTIONS,
    IRREVERSIBLE_OPTIONS,
    LIMIT_OPTIONS,
    QUOTE_OPTIONS,
    RESULT_OPTIONS,
)
from runtime.inbox import messages
from runtime.loop.turn_end import BLOCKED_OPTIONS
from runtime.statuses import CardKind
from runtime.tasks import tasks
from skills.book.grants import GRANT_OPTIONS
from skills.card_answers import SKILL_CARD_ANSWERS
from skills.lifecycle import promotion
from skills.tables import skill_grants
from tests.web.site.site import Site
from tests.web.test_access import bearer, new_key
from tests.web.test_memory import ANSWERS as FORGETTING
from tests.web.test_memory import remember
from tests.web.test_messages import make_task
from tests.web.test_skills import STEM, save

Options = Sequence[Mapping[str, Any]]
ASKS: dict[str, Options] = {
    "quote": QUOTE_OPTIONS,
    "limit": LIMIT_OPTIONS,
    "permission": GRANT_OPTIONS,
    "irreversible": IRREVERSIBLE_OPTIONS,
}
TALKS: dict[str, Options] = {
    "clarify": ({"id": "b", "label": "B"},),
    "checkpoint": CHECKPOINT_OPTIONS,
    "choice": ({"id": "a", "label": "A"},),
    "result": RESULT_OPTIONS,
    "blocked": BLOCKED_OPTIONS,
}


@pytest.fixture(name="at", params=["site", pytest.param("postgres_site", marks=pytest.mark.postgres)])
def at_each_database(request: pytest.FixtureRequest) -> Site:
    found: Site = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def raw(at: Site) -> str:
    """A key of the local owner with every scope that speaks as a program."""
    return new_key(at, identity.SCOPES, speaks_as="program")


@pytest.fixture
def program(at: Site, raw: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=at.url, trust_env=False, headers=bearer(raw)) as client:
        yield client


def ask(at: Site, kind: str, options: Options) -> tuple[str, str]:
    """A card of a person's task; its id and the task's."""
    # The database may be that of the tests before.
    task_id = make_task(at, uuid4().hex)
    with at.writing() as scope:
        card = cards.open_card(
            scope,
            kind=CardKind(kind),
            title="May I?",
            body="",
            options=options,
            cause=f"{kind}:{task_id}",
            task_id=task_id,
        )
        return card.id, task_id


def state_of(at: Site, card_id: str) -> str:
    with at.dependencies.database.reading(at.workspace_id) as scope:
        return cards.get_card(scope, card_id).state


def test_every_kind_of_card_is_either_a_persons_or_for_both() -> None:
    assert set(ASKS) == set(PERSON_ONLY)
    assert not set(TALKS) & set(PERSON_ONLY)


@pytest.mark.boundary(41)
@pytest.mark.parametrize("kind", ASKS)
def test_a_program_answers_no_card_that_authorises(at: Site, program: httpx.Client, kind: str) -> None:
    card_id, task_id = ask(at, kind, ASKS[kind])

    for option in ASKS[kind]:
        refused = program.post(f"/api/v1/cards/{card_id}/answer", json={"option": option["id"], "text": "approved"})
        assert refused.status_code == 403
        assert f"loopwright answer {card_id}" in refused.json()["detail"]
        assert "a person" in refused.json()["detail"]

    assert state_of(at, card_id) == "open"
    with at.dependencies.database.reading(at.workspace_id) as scope:
        assert tasks.get_task(scope, task_id).status != "stopped"
        assert scope.rows(scope.select(orders).where(orders.c.task_id == task_id)) == []


@pytest.mark.boundary(41)
@pytest.mark.parametrize("kind", TALKS)
def test_a_program_answers_what_authorises_nothing(at: Site, program: httpx.Client, kind: str) -> None:
    card_id, _ = ask(at, kind, TALKS[kind])
    answered = program.post(f"/api/v1/cards/{card_id}/answer", json={"option": TALKS[kind][0]["id"]})
    assert answered.status_code == 200, answered.text
    assert answered.json()["answer"]["as"] == "program"


@pytest.mark.boundary(41)
def test_the_command_line_with_a_programs_key_is_told_what_to_do(at: Site, raw: str) -> None:
    card_id, _ = ask(at, "quote", QUOTE_OPTIONS)
    told = CliRunner().invoke(main, ["answer", card_id, "approve", "--url", at.url, "--token", raw])
    assert told.exit_code == 1
    assert "ask a person to answer it in the page" in told.output
    assert state_of(at, card_id) == "open"


@pytest.mark.boundary(41)
def test_a_page_that_was_opened_with_a_programs_key_is_a_programs(at: Site, raw: str) -> None:
    card_id, _ = ask(at, "quote", QUOTE_OPTIONS)
    with httpx.Client(base_url=at.url, trust_env=False, follow_redirects=True) as browser:
        found = re.search(r'<meta name="csrf" content="([^"]+)">', browser.get("/", params={"token": raw}).text)
        assert found is not None
        pressed = browser.post(
            f"/api/v1/cards/{card_id}/answer", json={"option": "approve"}, headers={"X-CSRF-Token": found[1]}
        )
    assert pressed.status_code == 403
    assert state_of(at, card_id) == "open"


@pytest.mark.boundary(41)
def test_a_program_cannot_repeat_the_answer_of_a_person(at: Site, program: httpx.Client) -> None:
    """What was refused under a key is not kept for it, and the person's own answer counts afterwards."""
    card_id, _ = ask(at, "limit", LIMIT_OPTIONS)
    path, same = f"/api/v1/cards/{card_id}/answer", {"Idempotency-Key": "k"}
    assert program.post(path, json={"option": "stop"}, headers=same).status_code == 403
    assert at.post(path, {"option": "stop"}, **same).status_code == 200


@pytest.mark.boundary(41)
@pytest.mark.parametrize("kind", ASKS)
def test_a_programs_message_that_names_a_card_does_not_answer_it(at: Site, program: httpx.Client, kind: str) -> None:
    card_id, _ = ask(at, kind, ASKS[kind])
    response = program.post("/api/v1/messages", json={"text": str(ASKS[kind][0]["label"]), "card_id": card_id})
    with at.dependencies.database.reading(at.workspace_id) as scope:
        assert clarification.find_question(scope, messages.get_message(scope, response.json()["message_id"])) is None
    assert state_of(at, card_id) == "open"


@pytest.mark.boundary(41)
def test_a_program_may_ask_to_forget_and_not_say_yes(at: Site, program: httpx.Client) -> None:
    fact_id = remember(at, "Our colour is cobalt")
    card_id = program.post(f"/api/v1/memory/{fact_id}/forget", json={}).json()["card_id"]
    with pytest.raises(RefusedError, match="what cannot be undone"), at.writing() as scope:
        answer_card(scope, card_id, "confirm", None, at.person_id, FORGETTING, speaks_as="program")
    assert at.get(f"/api/v1/memory/{fact_id}")["state"] == "known"


@pytest.mark.boundary(41)
def test_a_program_grants_a_skill_nothing(at: Site) -> None:
    version = save(at, "LIMIT = 1\n", live=False, hosts=("prices.example:443",))
    with at.writing() as scope:
        promotion.wait_for_permission(scope, STEM, version, ("host:prices.example:443",))
        card = cards.list_open_cards(scope)[-1]
        assert card.kind == "permission"
    answers = CardAnswers(SKILL_CARD_ANSWERS)
    with pytest.raises(RefusedError, match="a permission"), at.writing() as scope:
        answer_card(scope, card.id, "grant", None, at.person_id, answers, speaks_as="program")
    with at.writing() as scope:
        assert scope.rows(scope.select(skill_grants)) == []
        answer_card(scope, card.id, "grant", None, at.person_id, answers)
        assert len(scope.rows(scope.select(skill_grants))) == 1
