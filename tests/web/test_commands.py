"""Commands over HTTP: cards are answered once, repeats change nothing, limits hold."""

from __future__ import annotations

import re
import threading
from datetime import timedelta

import httpx
import pytest

from app.web.presenters.values import moment
from generation.tables import orders
from runtime.cards import cards
from runtime.inbox import inbox, messages
from runtime.statuses import CardKind, InputKind, MessageState, WaitKind
from runtime.tasks import tasks, waits
from tests.web.site.site import Site
from tests.web.site.workspace_rows import insert_workspace_rows


def ask(site: Site, cause: str = "ask") -> str:
    with site.writing() as scope:
        options = [{"id": "a", "label": "A"}, {"id": "b", "label": "B"}]
        card = cards.open_card(scope, kind=CardKind.CHOICE, title="Which one?", body="", options=options, cause=cause)
        return card.id


def test_the_first_answer_wins_and_is_told_to_the_others(site: Site) -> None:
    # Given an open card
    card_id = ask(site)
    assert [one["id"] for one in site.get("/api/v1/cards", state="open")["items"]] == [card_id]

    # When five people press at once
    answers: list[tuple[int, dict[str, object]]] = []

    def press(option: str) -> None:
        answer = site.post(f"/api/v1/cards/{card_id}/answer", {"option": option})
        answers.append((answer.status_code, answer.json()))

    pressing = [threading.Thread(target=press, args=("ab"[n % 2],)) for n in range(5)]
    for one in pressing:
        one.start()
    for one in pressing:
        one.join(30)

    # Then one of them decided, and the others are told what
    statuses = sorted(status for status, _ in answers)
    assert statuses == [200, 409, 409, 409, 409]
    decided = site.get(f"/api/v1/cards/{card_id}")["answer"]
    for status, body in answers:
        told = body["answer"]
        assert isinstance(told, dict)
        assert told["option"] == decided["option"]
        assert status == 200 or "already decided" in str(body["detail"])


def test_an_option_that_is_none_is_refused(site: Site) -> None:
    answer = site.post(f"/api/v1/cards/{ask(site)}/answer", {"option": "c"})

    assert answer.status_code == 422
    assert "a, b" in answer.json()["detail"]


def test_a_repeat_under_the_same_key_is_answered_as_before(site: Site) -> None:
    # When a request is sent three times under one key, and once under another
    first, again, third = [site.post("/api/v1/messages", {"text": "hi"}, **{"Idempotency-Key": "k1"}) for _ in range(3)]
    other = site.post("/api/v1/messages", {"text": "hi"}, **{"Idempotency-Key": "k2"})

    # Then it happened once, and each repeat got the first answer
    assert first.json() == again.json() == third.json()
    assert again.status_code == 202
    assert other.json()["message_id"] != first.json()["message_id"]
    assert len(site.get("/api/v1/thread")["items"]) == 2


def test_repeats_at_the_same_moment_happen_once(site: Site) -> None:
    ids: list[str] = []

    def send() -> None:
        answer = site.post("/api/v1/objects", {"title": "T", "content": "x"}, **{"Idempotency-Key": "same"})
        ids.append(answer.json()["id"])

    sending = [threading.Thread(target=send) for _ in range(6)]
    for one in sending:
        one.start()
    for one in sending:
        one.join(30)

    assert len(ids) == 6
    assert len(set(ids)) == 1
    assert len(site.get("/api/v1/objects")["items"]) == 1


def test_a_key_for_another_request_is_refused(site: Site) -> None:
    site.post("/api/v1/messages", {"text": "hi"}, **{"Idempotency-Key": "k"})

    other = site.post("/api/v1/messages", {"text": "ho"}, **{"Idempotency-Key": "k"})
    elsewhere = site.post("/api/v1/objects", {"title": "T", "content": "x"}, **{"Idempotency-Key": "k"})

    assert (other.status_code, elsewhere.status_code) == (409, 409)


def test_a_refused_request_may_be_put_right_under_its_key(site: Site) -> None:
    wrong = site.post("/api/v1/messages", {"text": ""}, **{"Idempotency-Key": "k"})
    right = site.post("/api/v1/messages", {"text": "hi"}, **{"Idempotency-Key": "k"})

    assert (wrong.status_code, right.status_code) == (422, 202)


def test_a_secret_is_not_kept_with_the_answer(site: Site) -> None:
    body = {"name": "ci", "scopes": ["read"]}
    first = site.post("/api/v1/keys", body, **{"Idempotency-Key": "k"}).json()
    again = site.post("/api/v1/keys", body, **{"Idempotency-Key": "k"}).json()

    assert first["key"]
    assert again == {**first, "key": None}


def test_a_program_says_neither_how_far_a_task_goes_nor_what_it_may_spend(site: Site) -> None:
    rows = insert_workspace_rows(site)
    path = f"/api/v1/tasks/{rows.task_id}"
    body = {"name": "robot", "scopes": ["read", "write", "approve"], "speaks_as": "program"}
    robot = site.post("/api/v1/keys", body).json()["key"]

    for wish in ({"autonomy": "plan"}, {"budget": "50"}):
        refused = httpx.patch(f"{site.url}{path}", json=wish, headers={"Authorization": f"Bearer {robot}"}, timeout=30)
        assert (refused.status_code, "person" in refused.json()["detail"]) == (403, True)

    unchanged = site.get(path)
    assert (unchanged["autonomy"], unchanged["budget"]) == ("checkpoint", None)


def test_a_task_is_told_to_pause_resume_and_stop(site: Site) -> None:
    rows = insert_workspace_rows(site)
    path = f"/api/v1/tasks/{rows.task_id}"

    assert site.post(f"{path}/pause").json()["status"] == "paused"
    assert site.post(f"{path}/resume").json()["status"] == "active"
    limited = site.client.patch(path, json={"autonomy": "plan", "budget": "4.50"}).json()
    assert (limited["autonomy"], limited["budget"]) == ("plan", {"amount": "4.50", "currency": "USD"})
    whole = {"amount": "9.00", "currency": "USD", "kinds": ["image"], "count": 4, "expires_at": "2099-01-01T12:00:00Z"}
    sent = {**whole, "expires_at": "2099-01-01T13:00:00+01:00"}
    assert site.client.patch(path, json={"budget": sent}).json()["budget"] == whole
    assert site.client.patch(path, json={"budget": "5"}).json()["budget"] == {**whole, "amount": "5.00"}
    assert site.client.patch(path, json={"budget": {"amount": "5", "currency": "EUR"}}).status_code == 422
    assert site.client.patch(path, json={"budget": {"amount": "5", "kinds": ["hologram"]}}).status_code == 422
    past = {"amount": "5", "expires_at": "2001-01-01T00:00:00Z"}
    assert site.client.patch(path, json={"budget": past}).status_code == 422
    assert site.client.patch(path, json={"budget": None}).json()["budget"] is None
    assert site.client.patch(path, json={"autonomy": "wild"}).status_code == 422
    stopped = site.post(f"{path}/stop").json()
    assert (stopped["status"], stopped["open_cards"], stopped["waiting_on"]) == ("stopped", [], None)
    late = site.post(f"/api/v1/cards/{rows.card_id}/answer", {"option": "approve"})
    assert late.status_code == 409
    assert "stopped" in late.json()["detail"]


@pytest.mark.parametrize("end", ["stop", "archive"])
def test_a_quick_task_that_has_ended_is_not_gone_on_with(site: Site, end: str) -> None:
    with site.writing() as scope:
        task = tasks.create_task(
            scope, kind="light", goal="A film.", language="en", person_id=site.person_id, asked_by="person", cause="f"
        )
    path = f"/api/v1/tasks/{task.id}"
    ended = site.post(f"{path}/{end}").json()["status"]

    answer = site.post(f"{path}/promote")

    assert (answer.status_code, answer.json()["state"]) == (409, ended)
    assert site.get(path)["kind"] == "light"


@pytest.mark.boundary(21)
def test_stop_that_names_a_turn_that_has_ended_changes_nothing(site: Site) -> None:
    rows = insert_workspace_rows(site)
    path = f"/api/v1/tasks/{rows.task_id}"
    follow_up = site.post("/api/v1/messages", {"text": "and in blue", "task_id": rows.task_id}).json()["message_id"]
    with site.writing() as scope:
        messages.set_message_state(
            scope, follow_up, MessageState.DELIVERED, was=(MessageState.RECEIVED,), task_id=rows.task_id
        )
        inbox.deliver_input(scope, rows.task_id, InputKind.MESSAGE, follow_up)
    newest = site.get(path)["turns"][-1]["id"]

    late = site.post(f"{path}/stop", {"turn_id": rows.turn_id})

    assert newest != rows.turn_id
    assert late.status_code == 409
    assert "too late" in late.json()["detail"]
    assert (late.json()["turn_id"], late.json()["newest_turn_id"]) == (rows.turn_id, newest)
    assert site.get(path)["status"] == "active"
    assert f'data-turn-id="{newest}"' in site.client.get(f"/tasks/{rows.task_id}").text
    assert site.post(f"{path}/stop", {"turn_id": newest}).json()["status"] == "stopped"
    assert site.post(f"{path}/stop", {"turn_id": newest}).status_code == 200


@pytest.mark.parametrize("command", ["stop", "archive"])
def test_a_message_that_a_closed_task_never_read_says_so(site: Site, command: str) -> None:
    rows = insert_workspace_rows(site)
    path = f"/api/v1/tasks/{rows.task_id}"
    late = site.post("/api/v1/messages", {"text": "and in blue", "task_id": rows.task_id}).json()["message_id"]
    with site.writing() as scope:
        messages.set_message_state(
            scope, late, MessageState.DELIVERED, was=(MessageState.RECEIVED,), task_id=rows.task_id
        )
        inbox.deliver_input(scope, rows.task_id, InputKind.MESSAGE, late)

    site.post(f"{path}/{command}")

    assert site.get(f"/api/v1/messages/{late}")["state"] == "superseded"
    assert site.get(f"/api/v1/messages/{rows.message_id}")["state"] in ("consumed", "answered")
    assert site.get(path)["inbox"] == []
    assert site.post(f"/api/v1/messages/{late}/withdraw").status_code == 409


def test_a_wait_says_until_when_and_what_happens_then(site: Site) -> None:
    rows = insert_workspace_rows(site)
    path = f"/api/v1/tasks/{rows.task_id}"
    order = site.get(f"/api/v1/generations/{rows.order_id}")
    waiting = site.get(path)["waiting_on"]
    with site.writing() as scope:
        deadline = scope.scalar(scope.select(orders.c.deadline).where(orders.c.id == rows.order_id))
        assert (order["state"], waiting["deadline"]) == ("running", moment(deadline))
        ends = scope.now + timedelta(hours=2)
        soon = [
            cards.open_card(
                scope, kind=CardKind.CHOICE, title="?", body="", options=cards.RESULT_OPTIONS, cause=f"until-{n}",
                task_id=rows.task_id, expires_at=at,
            ).id
            for n, at in enumerate((None, ends + timedelta(hours=1), ends))
        ]  # fmt: skip
        waits.begin_wait(scope, rows.task_id, rows.turn_id, WaitKind.CARD, soon)

    waiting = site.get(path)["waiting_on"]
    assert waiting["deadline"] == moment(ends)
    assert "at the deadline the question expires" in waiting["then"]


def test_a_task_and_its_turns_are_told_in_full(site: Site) -> None:
    rows = insert_workspace_rows(site)

    task = site.get(f"/api/v1/tasks/{rows.task_id}")
    turn = site.get(f"/api/v1/turns/{rows.turn_id}")
    message = site.get(f"/api/v1/messages/{rows.message_id}")

    assert task["waiting_on"]["type"] == "generation"
    assert [step["status"] for step in task["checklist"]] == ["done", "done", "done", "waiting", "todo"]
    assert {one["id"] for one in task["objects"]} == {*rows.pictures, rows.document_id}
    assert [one["id"] for one in task["open_cards"]] == [rows.card_id]
    assert [one["status"] for one in task["turns"]] == ["waiting"]
    assert [call["tool"] for call in turn["steps"][0]["calls"]] == ["set_brief", "create_checklist"]
    assert turn["steps"][0]["consumed"] == [rows.message_id]
    assert message["route"]["task_id"] == rows.task_id
    assert message["consumed_by"] == {"turn_id": rows.turn_id, "step": 1}
    assert message["calls"] == [f"{rows.turn_id}:1:0", f"{rows.turn_id}:1:1"]
    order = site.get(f"/api/v1/generations/{rows.order_id}")
    assert (order["state"], order["progress"], order["quote"]) == (
        "running",
        0.35,
        {"amount": "0.04", "currency": "USD"},
    )


def test_the_budget_is_shown_and_set_in_parts(site: Site) -> None:
    assert site.get("/api/v1/budget")["balance"] == "100.00"

    site.client.put("/api/v1/budget", json={"free_per_day": "3.5"})
    after = site.client.put("/api/v1/budget", json={"balance": "80"}).json()

    assert (after["balance"], after["free_per_operation"], after["free_per_day"]) == ("80.00", "0.30", "3.50")
    assert site.client.put("/api/v1/budget", json={"balance": "-1"}).status_code == 422


def test_runs_come_from_whoever_keeps_them(site: Site) -> None:
    site.dependencies.runs.runs["r1"] = {
        "id": "r1", "app": "loopwright", "function": "run-turn", "status": "completed", "started_at": None,
        "ended_at": None, "event": {}, "output": 1, "error": None, "steps": [],
    }  # fmt: skip

    assert [run["id"] for run in site.get("/api/v1/runs", function="loopwright/run-turn")["items"]] == ["r1"]
    assert site.get("/api/v1/runs", status="failed")["items"] == []
    assert site.get("/api/v1/runs/r1")["output"] == 1
    assert site.client.get("/api/v1/runs/r2").status_code == 404
    assert site.client.get("/api/v1/runs", params={"status": "odd"}).status_code == 422


def test_the_page_of_tasks_leads_to_the_earlier_ones(site: Site) -> None:
    with site.writing() as scope:
        for n in range(60):
            tasks.create_task(
                scope,
                kind="light",
                goal=f"Film {n}.",
                language="en",
                person_id=site.person_id,
                asked_by="person",
                cause=f"film:{n}",
            )

    first = site.client.get("/tasks").text
    [link] = re.findall(r'href="(/tasks\?cursor=[^"]+)">Earlier tasks', first)
    second = site.client.get(link).text

    shown = [goal for text in (first, second) for goal in re.findall(r"Film \d+\.", text)]
    assert sorted(shown) == sorted(f"Film {n}." for n in range(60))
    assert "Earlier tasks" not in second
    assert "Back to the newest" in second


def _ran(site: Site, count: int, *, failed: set[int]) -> None:
    for n in range(count):
        site.dependencies.runs.runs[f"r{n}"] = {
            "id": f"r{n}", "app": "loopwright", "function": "run-turn", "started_at": None, "ended_at": None,
            "status": "failed" if n in failed else "completed",
            "event": {}, "output": 1, "error": None, "steps": [],
        }  # fmt: skip


def test_a_page_of_runs_is_as_long_as_was_asked(site: Site) -> None:
    _ran(site, 7, failed=set())

    first = site.get("/api/v1/runs", limit="3")

    assert [run["id"] for run in first["items"]] == ["r0", "r1", "r2"]
    assert [run["id"] for run in site.get("/api/v1/runs", limit="3", cursor=first["next"])["items"]] == [
        "r3",
        "r4",
        "r5",
    ]


def test_the_page_of_runs_finds_what_fits_behind_what_does_not(site: Site) -> None:
    # Given a failed run behind more others than a page of the engine holds, and one far behind those
    _ran(site, 700, failed={120, 680})

    # When failed ones are looked for
    shown = site.client.get("/runs", params={"status": "failed"}).text

    # Then the nearer is shown, and the way to the other
    assert "/runs/r120" in shown
    assert "No runs" not in shown
    assert "Earlier runs" in shown
    assert "/runs/r680" in site.client.get("/runs", params={"status": "failed", "cursor": "500"}).text


def test_a_look_that_found_nothing_yet_says_that_there_is_more(site: Site) -> None:
    _ran(site, 700, failed={680})

    shown = site.client.get("/runs", params={"status": "failed"}).text

    assert "there are earlier ones" in shown
    assert "Earlier runs" in shown
    assert "No runs" not in shown


@pytest.mark.parametrize("path", ["/runs", "/api/v1/runs"])
@pytest.mark.parametrize(
    ("query", "said"),
    [
        ({"since": "bogus"}, "since is a time such as"),
        ({"since": "0001-01-01T00:00:00+23:59"}, "since is a time such as"),
        ({"cursor": "bogus"}, "cursor is not one of the engine"),
        ({"limit": "many"}, "limit is a number"),
        ({"status": "odd"}, "status is one of"),
    ],
)
def test_a_query_for_runs_that_is_none_is_told_what_to_write(
    site: Site, path: str, query: dict[str, str], said: str
) -> None:
    _ran(site, 1, failed=set())

    answer = site.client.get(path, params=query)

    assert answer.status_code == 422
    assert said in answer.text
    assert "isoformat" not in answer.text


def test_the_api_describes_itself_and_counts(site: Site) -> None:
    insert_workspace_rows(site)

    body = site.get("/api/v1/openapi.json")
    numbers = site.client.get("/metrics").text

    assert body["paths"]["/api/v1/messages"]["post"]["requestBody"]
    assert "client_id" in body["components"]["schemas"]["PostMessage"]["properties"]
    assert all(path.startswith("/api/") for path in body["paths"])
    assert 'loopwright_tasks{state="waiting"} 1' in numbers
    assert "loopwright_streams 0" in numbers


@pytest.mark.parametrize(
    ("method", "path", "status"), [("GET", "/api/v1/nothing", 404), ("DELETE", "/api/v1/tasks", 405)]
)
def test_what_is_not_there_says_where_to_look(site: Site, method: str, path: str, status: int) -> None:
    answer = site.client.request(method, path)

    assert answer.status_code == status
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert "openapi.json" in answer.json()["detail"]
