"""Promises to people and to the studio are kept while processes freeze and die."""

from __future__ import annotations

import os
import signal
from typing import Any

import httpx
import pytest

from tests.faults.audit import assert_books_are_closed, assert_nothing_lost_or_doubled
from tests.faults.rig import TOWNS, Rig
from tests.support import story

pytestmark = pytest.mark.kill


@pytest.mark.boundary(10)
def test_message_that_a_frozen_step_has_claimed_is_read_and_its_withdrawal_refused(rig: Rig) -> None:
    point = "freeze:decide.claimed.after_commit"
    rig.strike(point)
    _, message = rig.posters()
    frozen = rig.victim(point)
    task = story.task_of(rig.product, message)

    late = rig.product.post(f"/api/v1/messages/{message}/withdraw")
    os.kill(frozen, signal.SIGKILL)

    assert late.status_code == 409
    turn = rig.rows.one("select id from turns where task_id = :task", task=task)
    assert (late.json()["turn_id"], late.json()["step"]) == (turn, 1)
    rig.ended(message)
    assert_nothing_lost_or_doubled(rig, task, works=2)


@pytest.mark.boundary(10)
def test_message_withdrawn_before_the_claim_of_a_frozen_worker_is_never_read(rig: Rig) -> None:
    point = "freeze:turn.opened.after_commit"
    rig.strike(point)
    _, message = rig.posters()
    frozen = rig.victim(point)
    task = story.task_of(rig.product, message)

    taken = rig.product.post(f"/api/v1/messages/{message}/withdraw")
    os.kill(frozen, signal.SIGKILL)

    assert (taken.status_code, taken.json()["state"]) == (200, "withdrawn")
    rig.product.until("the turn has ended", lambda: _open_turns(rig, task) == 0, 90)
    query = "select state from inbox where task_id = :task and kind = 'message'"
    assert rig.rows.ask(query, task=task) == [("withdrawn",)]


@pytest.mark.boundary(10)
def test_message_replaced_before_the_claim_of_a_frozen_worker_is_never_acted_on(rig: Rig) -> None:
    point = "freeze:turn.opened.after_commit"
    rig.strike(point)
    town, message = rig.posters()
    frozen = rig.victim(point)
    task = story.task_of(rig.product, message)

    text = f"Make me a set of two posters for the {next(TOWNS)} Festival, navy and cream."
    instead = rig.product.post(f"/api/v1/messages/{message}/replace", {"text": text})
    os.kill(frozen, signal.SIGKILL)

    assert instead.status_code == 200
    assert rig.ended(instead.json()["id"]) == task
    assert rig.product.get(f"/api/v1/tasks/{task}")["goal"] == text
    assert not [asked for asked in rig.model.requests(town) if asked["request"].get("tools")]
    assert_nothing_lost_or_doubled(rig, task, works=2)


@pytest.mark.boundary(29)
def test_late_and_doubled_callbacks_change_nothing_that_is_done(rig: Rig) -> None:
    for fault in ("late_progress_after_done", "duplicate_callbacks"):
        rig.studio.fault(fault, times=2)
    rig.strike("order.called_back.after_commit")
    _, message = rig.posters()
    task = rig.ended(message)
    assert_nothing_lost_or_doubled(rig, task, works=2)


@pytest.mark.boundary(32)
def test_single_picture_is_shown_without_another_model_call(rig: Rig) -> None:
    rig.strike("order.settled.before_commit", "order.settled.after_commit")
    message = rig.say(f"Make me a retro poster for the {next(TOWNS)} Festival, navy and cream.")
    task = story.task_of(rig.product, message)
    rig.product.until("both deaths", lambda: len(rig.struck()) == 2 or None, 60)
    story.ended(rig.product, task)

    assert rig.rows.one("select kind from tasks where id = :task", task=task) == "light"
    _assert_one_work_without_a_further_turn(rig, task)


def _assert_one_work_without_a_further_turn(rig: Rig, task: str) -> None:
    """One work, one charge, one card that shows it, and no turn after the first."""
    assert rig.rows.ask("select state from orders where task_id = :task", task=task) == [("succeeded",)]
    assert rig.rows.one("select count(*) from turns where task_id = :task", task=task) == 1
    assert rig.rows.one("select count(*) from cards where task_id = :task and kind = 'result'", task=task) == 1
    key = rig.rows.one("select key from orders where task_id = :task", task=task)
    assert [row["idempotency_key"] for row in rig.studio.bill()].count(key) == 1
    assert_books_are_closed(rig, task)


@pytest.mark.parametrize(
    "claims",
    [
        pytest.param("nothing", marks=pytest.mark.boundary(36)),
        pytest.param("the_users_consent", marks=[pytest.mark.boundary(39), pytest.mark.case("B42")]),
    ],
)
def test_above_the_allowance_there_is_one_card_and_no_job_whatever_the_model_says(rig: Rig, claims: str) -> None:
    if claims == "the_users_consent":
        rig.model.misbehave("claim_consent")
    rig.strike("order.admitted.before_commit", "order.admitted.after_commit")
    message = rig.say(f"Make an eight-second video of a storm over {next(TOWNS)}.")
    task = story.task_of(rig.product, message)
    rig.product.until("the quote", lambda: _quotes(rig, task))
    rig.product.until("both deaths", lambda: len(rig.struck()) == 2 or None, 60)
    rig.product.until("the task waits", lambda: rig.product.get(f"/api/v1/tasks/{task}")["status"] == "waiting", 90)

    assert len(_quotes(rig, task)) == 1
    assert rig.rows.one("select count(*) from orders where task_id = :task", task=task) == 0


@pytest.mark.boundary(41)
def test_each_paid_act_of_a_program_has_a_card_of_its_own(rig: Rig) -> None:
    body = {"name": "a program", "scopes": ["read", "write"], "speaks_as": "program"}
    made = rig.product.post("/api/v1/keys", body).json()
    rig.strike("order.admitted.after_commit")
    text = f"Make me a set of two posters for the {next(TOWNS)} Festival, navy and cream."
    headers = {"Authorization": f"Bearer {made['key']}"}
    answer = httpx.post(f"{rig.product.url}/api/v1/messages", json={"text": text}, headers=headers, timeout=30)
    task = story.task_of(rig.product, answer.json()["message_id"])
    rig.product.until("a card for each", lambda: len(_quotes(rig, task)) == 2 or None, 90)

    assert rig.rows.one("select count(*) from orders where task_id = :task", task=task) == 0
    for card in _quotes(rig, task):
        assert len(card["quote"]["lines"]) == 1
        assert rig.product.post(f"/api/v1/cards/{card['id']}/answer", {"option": "approve"}).status_code == 200
    story.ended(rig.product, task)
    assert_nothing_lost_or_doubled(rig, task, works=2)


def _quotes(rig: Rig, task: str) -> list[dict[str, Any]]:
    found = rig.product.items("/api/v1/cards", state="open", task_id=task)
    return [one for one in found if one["kind"] == "quote"]


def _open_turns(rig: Rig, task: str) -> int:
    query = "select count(*) from turns where task_id = :task and status in ('queued', 'running')"
    return int(rig.rows.one(query, task=task))
