"""Large outputs, late results and deletions, while processes die."""

from __future__ import annotations

import json
import uuid
from typing import Any

import httpx
import pytest

from tests.faults.audit import assert_books_are_closed
from tests.faults.rig import Rig, calls, says
from tests.faults.stage import commit
from tests.support.waiting import until

pytestmark = pytest.mark.kill

STORING = ("call.act.after", *commit("call.result"))
ASKING = (*commit("tool"), "call.result.after_commit")


@pytest.mark.boundary(17)
def test_large_page_is_stored_once_and_the_engine_keeps_nothing_of_it(rig: Rig) -> None:
    task, _ = _pictures(rig, "two")
    document = rig.product.post("/api/v1/objects", {"title": "Quotes", "content": '"' * 30_000}).json()["id"]
    rig.model.replay(calls(("read_object", {"object_id": document})), says("I have read it."))
    rig.strike(*STORING)

    rig.say("Read the document.", task_id=task)
    rig.product.until("it is read", lambda: rig.struck() == list(STORING) and _rests(rig, task), 90)

    of_task = "from calls c join turns t on t.id = c.turn_id where t.task_id = :task and c.tool = 'read_object'"
    (call,) = rig.rows.ask(f"select c.id, c.turn_id, c.status, c.result_ref, c.result {of_task}", task=task)
    call_id, turn, status, reference, result = call
    ((kept, text),) = rig.rows.ask("select id, text from originals where cause = :call", call=call_id)
    assert (status, reference, len(text) > 20_000, len(str(result)) < 6_000) == ("done", kept, True, True)
    runs = [rig.product.get(f"/api/v1/runs/{run['id']}") for run in _runs(rig, turn)]
    assert runs
    assert sum(len(json.dumps(run["steps"])) for run in runs) < 10_000


@pytest.mark.boundary(35)
def test_of_two_next_versions_the_later_is_kept_stale_and_not_placed(rig: Rig) -> None:
    task, (picture, _) = _pictures(rig, "two")
    wish = {"title": "Warmer", "object_id": picture}
    both = (("generate_image", {**wish, "prompt": f"The same, {how}"}) for how in ("warmer", "warmer still"))
    rig.model.replay(calls(*both), says("They are under way."), says("Both are there."))
    deaths = ("provider.fetch.after", *commit("order.settled"))
    rig.strike(*deaths)

    rig.say("Make the first one warmer, in two ways.", task_id=task)
    made = "select count(*) from orders where task_id = :task and state = 'succeeded'"
    rig.product.until("both are made", lambda: rig.rows.one(made, task=task) == 4 and _rests(rig, task), 120)

    assert rig.struck() == list(deaths)
    works = rig.product.items("/api/v1/objects", kind="image", task_id=task)
    placed = next(one for one in works if one["id"] == picture)
    late = [one for one in works if one["stale"]]
    assert (placed["version"], placed["stale"], len(works)) == (2, False, 3)
    assert [(one["version"], one["title"]) for one in late] == [(1, "Warmer")]
    keys = [key for (key,) in rig.rows.ask("select key from orders where task_id = :task", task=task)]
    assert sorted(row["idempotency_key"] for row in rig.studio.bill() if row["idempotency_key"] in keys) == sorted(keys)
    settled = "select count(*) from entries e join orders o on o.id = e.order_id where o.task_id = :task and e.kind = "
    assert rig.rows.one(settled + "'settle'", task=task) == 4
    assert_books_are_closed(rig, task)


@pytest.mark.boundary(42)
def test_deletion_is_confirmed_at_every_level_and_done_once(rig: Rig) -> None:
    """Deaths between the card, the answer and the act, which are one transaction with it; a plan pays for anything."""
    task, pictures = _pictures(rig, "four")
    kept = pictures.pop()
    for level, gone in zip(("step", "checkpoint", "plan"), pictures, strict=True):
        limits = {"autonomy": level, "budget": "50"}
        assert rig.product.client.patch(f"/api/v1/tasks/{task}", json=limits).status_code == 200
        asked = _asked_to_delete(rig, task, gone, kept)

        assert [_there(rig, one) for one in (gone, kept)] == [200, 200]
        rig.strike(*commit("web.answer_card"))
        assert _insist(rig, asked[gone], "confirm").json()["answer"]["option"] == "confirm"
        assert rig.struck() == list(commit("web.answer_card"))
        assert rig.product.post(f"/api/v1/cards/{asked[gone]}/answer", {"option": "confirm"}).status_code == 409
        assert rig.product.post(f"/api/v1/cards/{asked[kept]}/answer", {"option": "keep"}).status_code == 200
        rig.product.until("the answers are read", lambda: _rests(rig, task), 60)
        assert [_there(rig, one) for one in (gone, kept)] == [404, 200]

    answers = "select count(*) from inbox where task_id = :task and kind = 'answer'"
    assert rig.rows.one(answers, task=task) == 6
    assert_books_are_closed(rig, task)
    # At `step` it asked about its steps too; a task that waits would be a near-duplicate of every later story's.
    assert rig.product.post(f"/api/v1/tasks/{task}/archive").status_code == 200


def _pictures(rig: Rig, count: str) -> tuple[str, list[str]]:
    """A task that is done, and the pictures it has made."""
    _, message = rig.posters(count)
    task = rig.ended(message)
    return task, [str(one["id"]) for one in rig.product.items("/api/v1/objects", kind="image", task_id=task)]


def _asked_to_delete(rig: Rig, task: str, *works: str) -> dict[str, str]:
    """The open cards by the work they are about, once the process has died at every point of asking."""
    made = calls(*(("delete_object", {"object_id": one}) for one in works))
    rig.model.replay(made, says("Please confirm."), says("As you wish."), says("As you wish."))
    rig.strike(*ASKING)
    rig.say("Delete them. I confirm it here and now, so do not ask me again.", task_id=task)

    def asked() -> dict[str, str] | None:
        if rig.struck() != list(ASKING) or _open_turns(rig, task):
            return None
        found = rig.product.items("/api/v1/cards", state="open", task_id=task)
        return {_work_of(rig, one["id"]): one["id"] for one in found if one["kind"] == "irreversible"}

    found = rig.product.until("the cards", asked, 90)
    assert found is not None
    assert sorted(found) == sorted(works)
    return found


def _work_of(rig: Rig, card: str) -> str:
    subject: Any = rig.rows.one("select subject from cards where id = :card", card=card)
    return str((json.loads(subject) if isinstance(subject, str) else subject)["object_id"])


def _insist(rig: Rig, card: str, option: str) -> httpx.Response:
    """Answer under one key until the answer comes back."""
    key = uuid.uuid4().hex

    def answered() -> httpx.Response | None:
        try:
            return rig.product.post(f"/api/v1/cards/{card}/answer", {"option": option}, **{"Idempotency-Key": key})
        except httpx.TransportError:
            return None

    answer = until("the answer is taken in", answered, 60)
    assert answer is not None
    return answer


def _there(rig: Rig, work: str) -> int:
    return rig.product.client.get(f"/api/v1/objects/{work}").status_code


def _runs(rig: Rig, turn: str) -> list[dict[str, Any]]:
    runs = rig.product.items("/api/v1/runs", function="run-turn")[:12]
    return [run for run in runs if turn in str(rig.product.get(f"/api/v1/runs/{run['id']}"))]


def _open_turns(rig: Rig, task: str) -> int:
    query = "select count(*) from turns where task_id = :task and status in ('queued', 'running')"
    return int(rig.rows.one(query, task=task))


def _rests(rig: Rig, task: str) -> bool:
    unread = "select count(*) from inbox where task_id = :task and state <> 'consumed'"
    return _open_turns(rig, task) == 0 and rig.rows.one(unread, task=task) == 0
