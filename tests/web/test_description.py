"""What the API says of itself is what it does."""

from __future__ import annotations

import ast
from dataclasses import asdict
from pathlib import Path
from typing import Any

import httpx
import pytest

import app.web.api
from core.orchestrator.run_facts import TraceStep
from core.orchestrator.run_history import RunDetail
from skills.book import runs
from tests.web.site.site import Site
from tests.web.site.workspace_rows import insert_workspace_rows
from tests.web.test_memory import remember
from tests.web.test_skills import STEM, save

ELSEWHERE = {
    "GET /api/v1/assets/{sha256}",
    "GET /api/v1/events",
    "GET /api/v1/memory/receipts/{card_id}",
    "POST /api/v1/generations/callbacks/{provider}",
    "POST /api/v1/skills/{skill_id}/invoke",
}
"""What is no JSON, or takes a provider, an engine or a worker: tests of their own reach it."""
ROOM = Path(next(iter(app.web.api.__path__)))


def test_every_query_that_is_read_is_described(site: Site) -> None:
    described = {
        parameter["name"]
        for route in site.get("/api/v1/openapi.json")["paths"].values()
        for operation in route.values()
        for parameter in operation.get("parameters", [])
        if parameter["in"] == "query"
    }

    read = {name for file in sorted(ROOM.glob("*.py")) for name in _read_of_query(file)}

    assert len(read) > 8
    assert read <= described


def test_a_list_says_how_it_is_paged_and_a_work_may_be_a_file(site: Site) -> None:
    paths = site.get("/api/v1/openapi.json")["paths"]

    assert {"limit", "cursor", "q", "kind", "task_id"} <= _names(paths["/api/v1/objects"]["get"])
    assert {"status", "limit", "cursor"} <= _names(paths["/api/v1/tasks"]["get"])
    assert "multipart/form-data" in paths["/api/v1/objects"]["post"]["requestBody"]["content"]


def test_what_a_signature_opens_is_described_with_its_refusals(site: Site) -> None:
    paths = site.get("/api/v1/openapi.json")["paths"]
    callback = paths["/api/v1/generations/callbacks/{provider}"]["post"]

    assert callback["security"] == []
    assert site.client.post("/api/v1/generations/callbacks/nobody", content=b"{}").status_code == 404
    assert site.client.get(f"/api/v1/assets/{'0' * 64}").status_code == 403
    assert "404" in callback["responses"]
    assert "403" in paths["/api/v1/assets/{sha256}"]["get"]["responses"]


def test_every_answer_has_its_shape_and_every_refusal_too(site: Site) -> None:
    document = site.get("/api/v1/openapi.json")
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            for status, answer in operation["responses"].items():
                for media, shown in answer["content"].items():
                    assert "json" not in media or shown["schema"], f"{method} {path}: {status}"
            refused = [answer for status, answer in operation["responses"].items() if not status.startswith("2")]
            assert all("application/problem+json" in answer["content"] for answer in refused)

    shapes = document["components"]["schemas"]
    assert {"type", "title", "status", "detail", "code"} <= set(shapes["Problem"]["required"])
    assert "task_id" in shapes["CardShape"]["properties"]
    assert "task_id" not in shapes["CardShape"]["required"]


def test_every_route_answers_as_it_is_described(site: Site) -> None:
    """Each answer is held against the description as it comes in."""
    made, fact_id, second = (
        insert_workspace_rows(site),
        remember(site, "Our colour is cobalt"),
        remember(site, "Letters are big"),
    )
    _skill_with_runs(site)
    text = _ok(site.post("/api/v1/objects", {"title": "Notes", "content": "first"}))["id"]
    key_id = _ok(site.post("/api/v1/keys", {"name": "k", "scopes": ["read"], "speaks_as": "program"}))["id"]
    said, moved, other = (site.say(words) for words in ("one", "two", "three"))
    asked = _ok(site.post(f"/api/v1/memory/{fact_id}/forget"))["card_id"]
    light = next(task["id"] for task in site.get("/api/v1/tasks")["items"] if task["kind"] == "light")

    for path in (
        *(f"tasks/{made.task_id}", f"turns/{made.turn_id}", f"cards/{made.card_id}", f"generations/{made.order_id}"),
        *("tasks", "cards", "thread", "thread?newest=1", f"messages/{made.message_id}", "budget", "keys"),
        *("objects", f"objects/{made.pictures[0]}", f"objects/{text}/history", f"objects/{text}/content?version=1"),
        *("memory", f"memory/{fact_id}", "runs", "runs/r1", "openapi.json", "skills"),
        *(f"skills/{STEM}{more}" for more in ("", "/versions", "/versions/2", "/reviews")),
    ):
        assert site.client.get(f"/api/v1/{path}").is_success
    for path, body in (
        (f"cards/{asked}/answer", {"option": "confirm"}),
        (f"memory/{second}/correct", {"text": "Letters are small"}),
        ("memory/reindex", {}),
        (f"messages/{said}/replace", {"text": "another one"}),
        (f"messages/{moved}/reroute", {"task_id": "new"}),
        (f"messages/{other}/withdraw", {}),
        (f"objects/{text}/edits", {"edits": [{"find": "first", "replace": "second"}]}),
        (f"generations/{made.order_id}/cancel", {}),
        *((f"tasks/{made.task_id}/{name}", {}) for name in ("pause", "resume", "stop", "archive")),
        (f"tasks/{light}/promote", {}),
        *((f"skills/{STEM}/{name}", {}) for name in ("review", "rollback", "disable", "enable")),
        (f"skills/{STEM}/outcomes", {"value": "missed"}),
        (f"skills/{STEM}/ask", {"text": "alarm less"}),
    ):
        _ok(site.post(f"/api/v1/{path}", body))
    _ok(site.client.patch(f"/api/v1/tasks/{light}", json={"autonomy": "step", "budget": {"amount": "2"}}))
    _ok(site.client.put("/api/v1/budget", json={"free_per_day": "3"}))
    _ok(site.client.put(f"/api/v1/objects/{text}", json={"content": "third"}, headers={"If-Match": "2"}))
    _ok(site.client.delete(f"/api/v1/keys/{key_id}"))
    _ok(site.client.delete(f"/api/v1/skills/{STEM}"))

    assert site.described.operations - site.described.seen == ELSEWHERE


@pytest.mark.parametrize("odd", [{"surprise": 1}, {"balance": None}, {"balance": "much"}])
def test_an_answer_with_other_members_than_described_is_noticed(site: Site, odd: dict[str, object]) -> None:
    answer = site.client.get("/api/v1/budget")
    other = httpx.Response(200, json=answer.json() | odd, request=answer.request)

    with pytest.raises(AssertionError, match="not as described"):
        site.described.check(other)


def _ok(answer: httpx.Response) -> Any:
    assert answer.is_success, f"{answer.request.url}: {answer.status_code} {answer.text}"
    return answer.json()


def _skill_with_runs(site: Site) -> None:
    for n in (1, 2):
        version = save(site, f"LIMIT = {n}\n")
    with site.writing() as scope:
        runs.record_run_start(
            scope, run_id="run1", skill_id=STEM, function_id="look", version_id=version.id, stage="live", event={}
        )
    at = "2026-01-31T08:00:00Z"
    steps = (TraceStep("open", "open", 1, {"ok": True}, None, at, None),)
    run = RunDetail("r1", "loopwright", "run-turn", "running", at, None, event={}, output=None, error=None, steps=steps)
    site.dependencies.runs.runs["r1"] = asdict(run) | {"steps": [asdict(step) for step in steps]}


def _names(operation: dict[str, Any]) -> set[str]:
    return {parameter["name"] for parameter in operation["parameters"]}


def _read_of_query(file: Path) -> set[str]:
    """The constants in `request.args.get("…")`."""
    return {
        str(node.args[0].value)
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Call)
        and ast.unparse(node.func) == "request.args.get"
        and isinstance(node.args[0], ast.Constant)
    }
