"""The web process dies before and after the commit of a command; the client sends it again, and it is done once."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.faults.rig import TOWNS, Rig
from tests.support import story
from tests.support.waiting import until

pytestmark = pytest.mark.kill


def _insist(rig: Rig, handler: str, send: Callable[[str], httpx.Response]) -> Any:
    """Send a command under one key until it is answered, with a death at both edges of its commit."""
    points = [f"web.{handler}.before_commit", f"web.{handler}.after_commit"]
    rig.strike(*points)
    key = uuid.uuid4().hex

    def sent() -> httpx.Response | None:
        try:
            return send(key)
        except httpx.TransportError:
            return None

    answer = until(handler, sent, 60)
    assert answer is not None
    assert (answer.status_code // 100, rig.struck()) == (2, points), answer.text
    return answer.json()


def _post(rig: Rig, path: str, body: object = None) -> Callable[[str], httpx.Response]:
    return lambda key: rig.product.post(path, body, **{"Idempotency-Key": key})


@pytest.mark.boundary(26)
def test_commands_to_a_task_are_done_once(rig: Rig) -> None:
    _, message = rig.posters()
    task = rig.ended(message)
    path = f"/api/v1/tasks/{task}"

    limits = {"autonomy": "checkpoint", "budget": "3.00"}
    patched = _insist(rig, "patch_task", lambda _key: rig.product.client.patch(path, json=limits))
    assert patched["budget"]["amount"] == "3.00"
    assert _insist(rig, "promote_task", _post(rig, f"{path}/promote"))["kind"] == "persistent"
    assert _insist(rig, "stop_task", _post(rig, f"{path}/stop"))["status"] == "stopped"
    assert _insist(rig, "archive_task", _post(rig, f"{path}/archive"))["status"] == "archived"
    assert rig.rows.one("select count(*) from turns where task_id = :task and ended_at is null", task=task) == 0


@pytest.mark.boundary(9)
def test_withdrawing_replacing_and_moving_a_message_happen_once(rig: Rig) -> None:
    """A task that rests leaves unread what it is told; when it goes on, it reads what is left."""
    _, first = rig.posters()
    task = story.task_of(rig.product, first)
    path = f"/api/v1/tasks/{task}"
    assert _insist(rig, "pause_task", _post(rig, f"{path}/pause"))["status"] == "paused"

    said = _delivered(rig, task, f"The second one is for {next(TOWNS)}.")
    replaced = _insist(rig, "replace", _post(rig, f"/api/v1/messages/{said}/replace", {"text": "Both in green."}))
    assert rig.product.get(f"/api/v1/messages/{said}")["state"] == "replaced"
    rig.product.until("the new words", lambda: _state(rig, replaced["id"]) == "delivered")
    taken = _insist(rig, "withdraw", _post(rig, f"/api/v1/messages/{replaced['id']}/withdraw"))
    assert taken["state"] == "withdrawn"
    strayed = _delivered(rig, task, f"Make a poster for the {next(TOWNS)} Festival.")
    moved = _insist(rig, "reroute", _post(rig, f"/api/v1/messages/{strayed}/reroute", {"task_id": "new"}))
    assert moved["route"]["task_id"] != task
    assert rig.rows.one("select count(*) from inbox where ref_id = :said", said=strayed) == 2
    _insist(rig, "resume_task", _post(rig, f"{path}/resume"))

    story.ended(rig.product, task)
    read = "select ref_id from inbox where task_id = :task and kind = 'message' and state = 'consumed'"
    assert [ref for (ref,) in rig.rows.ask(read, task=task)] == [first]
    story.ended(rig.product, moved["route"]["task_id"])


def _delivered(rig: Rig, task: str, text: str) -> str:
    message_id = rig.say(text, task_id=task)
    rig.product.until("it is delivered", lambda: _state(rig, message_id) == "delivered")
    return message_id


def _state(rig: Rig, message: str) -> str:
    return str(rig.product.get(f"/api/v1/messages/{message}")["state"])


@pytest.mark.boundary(21)
def test_repeated_pause_does_not_stop_the_next_turn_of_a_resumed_task(rig: Rig) -> None:
    """Its answer was lost, and the person went on by hand; the client then sends it a second time."""
    _, message = rig.posters()
    task = story.task_of(rig.product, message)
    pause, point = _post(rig, f"/api/v1/tasks/{task}/pause"), "web.pause_task.after_commit"
    rig.strike(point)
    with pytest.raises(httpx.TransportError):
        pause("lost")
    _insist(rig, "resume_task", _post(rig, f"/api/v1/tasks/{task}/resume"))

    late = pause("lost")

    assert (late.status_code, late.json()["status"]) == (200, "paused")
    assert story.ended(rig.product, task)["status"] == "done"
