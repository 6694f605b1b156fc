"""What people say, stop and approve while processes freeze and die."""

from __future__ import annotations

import os
import signal
from typing import Any

import httpx
import pytest

from tests.faults.audit import assert_books_are_closed
from tests.faults.rig import TOWNS, Rig
from tests.support import story
from tests.support.waiting import until

pytestmark = pytest.mark.kill


@pytest.mark.boundary(8)
def test_message_that_comes_while_the_model_thinks_is_read_by_a_later_step(rig: Rig) -> None:
    rig.model.misbehave("silence:4")
    rig.strike("decide.recorded.after_commit")
    _, first = rig.posters()
    task = story.task_of(rig.product, first)
    until("the model is asked", lambda: rig.model.decisions(task), 30)

    second = rig.say("They are for the old pier.", task_id=task)
    rig.ended(first)
    rig.product.until("it is answered", lambda: rig.product.get(f"/api/v1/messages/{second}")["state"] == "answered")
    story.ended(rig.product, task)

    assert rig.struck() == ["decide.recorded.after_commit"]
    query = "select ref_id, turn_id, step from inbox where task_id = :task and kind = 'message' order by position"
    (one, turn, step), (two, later_turn, later_step) = rig.rows.ask(query, task=task)
    assert (one, two) == (first, second)
    assert later_turn != turn or later_step > step
    assert_books_are_closed(rig, task)


@pytest.mark.boundary(20)
def test_stop_while_the_result_is_fetched_settles_the_job_and_does_not_wake_the_task(rig: Rig) -> None:
    rig.strike("freeze:provider.fetch.after")
    _, message = rig.posters()
    frozen = rig.victim("freeze:provider.fetch.after")
    task = story.task_of(rig.product, message)

    assert rig.product.post(f"/api/v1/tasks/{task}/stop").status_code == 200
    os.kill(frozen, signal.SIGKILL)

    def settled() -> bool:
        orders = rig.rows.ask("select state from orders where task_id = :task", task=task)
        return all(state in ("succeeded", "cancelled") for (state,) in orders)

    rig.product.until("every order has ended", settled)
    made = rig.rows.one("select count(*) from orders where task_id = :task and state = 'succeeded'", task=task)
    kept = "select count(*) from object_tasks where task_id = :task"
    assert rig.rows.one(kept, task=task) == made >= 1
    charged = "select count(*) from entries e join orders o on o.id = e.order_id where o.task_id = :task and e.kind = "
    assert rig.rows.one(charged + "'settle'", task=task) == made
    assert rig.rows.one("select count(*) from reservations where task_id = :task and state = 'held'", task=task) == 0
    assert story.ended(rig.product, task, "stopped")["status"] == "stopped"
    woken = "(cause like 'outcome:%' or status in ('queued', 'running'))"
    assert rig.rows.one(f"select count(*) from turns where task_id = :task and {woken}", task=task) == 0


@pytest.mark.case("B39")
@pytest.mark.boundary(40)
@pytest.mark.parametrize("point", ["web.answer_card.before_commit", "web.answer_card.after_commit"])
def test_approval_whose_answer_was_lost_orders_once(rig: Rig, point: str) -> None:
    task, card = _quoted_film(rig)
    rig.strike(point)

    def approve() -> httpx.Response | None:
        try:
            return rig.product.post(
                f"/api/v1/cards/{card['id']}/answer", {"option": "approve"}, **{"Idempotency-Key": task}
            )
        except httpx.TransportError:
            return None

    answer = until("the approval is taken in", approve, 60)
    assert answer is not None
    assert (answer.status_code, answer.json()["state"]) == (200, "answered")
    again = rig.product.post(f"/api/v1/cards/{card['id']}/answer", {"option": "approve"})
    assert again.status_code == 409
    story.ended(rig.product, task)

    assert rig.struck() == [point]
    keys = [key for (key,) in rig.rows.ask("select key from orders where task_id = :task", task=task)]
    assert len(keys) == 1
    assert [row["idempotency_key"] for row in rig.studio.bill() if row["idempotency_key"] in keys] == keys


@pytest.mark.boundary(21)
def test_card_of_a_stopped_task_is_void_and_a_late_press_orders_nothing(rig: Rig) -> None:
    task, card = _quoted_film(rig)
    rig.strike("web.stop_task.after_commit")

    def stop() -> Any:
        try:
            return rig.product.post(f"/api/v1/tasks/{task}/stop").status_code == 200
        except httpx.TransportError:
            return None

    until("the stop is taken in", stop, 60)
    pressed = rig.product.post(f"/api/v1/cards/{card['id']}/answer", {"option": "approve"})

    assert rig.struck() == ["web.stop_task.after_commit"]
    assert pressed.status_code == 409
    assert rig.product.get(f"/api/v1/cards/{card['id']}")["state"] == "void"
    assert rig.rows.one("select count(*) from orders where task_id = :task", task=task) == 0


def _quoted_film(rig: Rig) -> tuple[str, dict[str, Any]]:
    """A task that waits for the approval of a film, with its card."""
    message = rig.say(f"Make an eight-second video of a storm over {next(TOWNS)}.")
    task = story.task_of(rig.product, message)

    def asked() -> dict[str, Any] | None:
        found = [one for one in rig.product.items("/api/v1/cards", state="open") if one["task_id"] == task]
        return next((one for one in found if one["kind"] == "quote"), None)

    card = rig.product.until("the quote", asked)
    assert card is not None
    return task, card
