"""The commands that talk to a running product."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.product import Product

pytestmark = pytest.mark.long


def listed(product: Product, *words: str) -> list[dict[str, Any]]:
    done = product.command(*words, "--json")
    assert done.status == 0, done.err
    items: list[dict[str, Any]] = json.loads(done.out)["items"]
    return items


@pytest.fixture(scope="module")
def poster(product: Product) -> str:
    """The id of a task that `say --wait` followed to its first stop."""
    done = product.command("say", "Make me a set of three retro posters for the Harbour Festival.", "--wait")
    assert done.status == 0, done.err
    assert done.out.startswith("→ a new task task_")
    (task,) = listed(product, "tasks")
    return str(task["id"])


def test_say_follows_until_the_work_waits(product: Product, poster: str) -> None:
    shown = product.command("task", poster)

    assert shown.status == 0
    assert "Harbour Festival" in shown.out


def test_say_follows_a_question_to_its_answer(product: Product) -> None:
    done = product.command("say", "Which video lengths can you do?", "--wait")

    assert done.status == 0, done.err
    assert done.out.splitlines()[0] == "→ Main answers"
    assert "seconds" in done.out


def test_a_message_may_bring_a_file(product: Product, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("navy and cream")

    done = product.command("say", "Keep this.", "--attach", str(tmp_path / "notes.txt"))

    assert done.status == 0, done.err
    message = product.get(f"/api/v1/messages/{done.out.strip()}")
    assert len(message["attachments"]) == 1
    (found,) = [item for item in listed(product, "objects") if item["title"].startswith("notes")]
    saved = tmp_path / "saved.txt"
    assert product.command("object", found["id"], "--save", str(saved)).status == 0
    assert saved.read_text() == "navy and cream"


def test_runs_and_one_run_are_shown(product: Product, poster: str) -> None:
    runs = product.until("a turn in the history", lambda: listed(product, "runs", "--function", "run-turn"))

    shown = product.command("run", runs[0]["id"])

    assert shown.status == 0
    assert "open" in shown.out
    assert "event" in shown.out


def test_a_task_is_stopped(product: Product, poster: str) -> None:
    product.until("the posters", lambda: product.get(f"/api/v1/tasks/{poster}")["status"] == "done", 120)
    done = product.command("say", "Write a short press release about the Harbour Festival.", "--wait")
    assert done.status == 0, done.err
    other = next(task for task in listed(product, "tasks") if task["id"] != poster)

    stopped = product.command("stop", other["id"])

    assert (stopped.status, stopped.out) == (0, f"{other['id']} is stopped\n") or other["status"] == "done"


def test_keys_are_made_shown_once_and_revoked(product: Product) -> None:
    made = product.command("keys", "create", "robot", "--scopes", "read", "--program")
    key = made.out.strip()
    row = next(item for item in listed(product, "keys") if item["name"] == "robot")

    assert row["speaks_as"] == "program"
    assert key not in json.dumps(listed(product, "keys"))
    assert product.client.get("/api/v1/tasks", headers={"Authorization": f"Bearer {key}"}).status_code == 200

    assert product.command("keys", "revoke", row["id"]).status == 0
    assert product.client.get("/api/v1/tasks", headers={"Authorization": f"Bearer {key}"}).status_code == 401


def test_the_budget_is_set(product: Product) -> None:
    assert product.command("budget", "free_per_day=3.50").status == 0

    assert float(product.get("/api/v1/budget")["free_per_day"]) == 3.5


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("task", "task_none"), "task_none"),
        (("object", "object_none"), "object_none"),
        (("answer", "card_none", "approve"), "card_none"),
        (("say", ""), "empty"),
        (("keys", "revoke", "key_none"), "key_none"),
    ],
)
def test_what_the_api_refuses_is_said_in_its_words(product: Product, words: tuple[str, ...], said: str) -> None:
    done = product.command(*words)

    assert done.status == 1
    assert done.err.startswith("Error: ")
    assert said in done.err


def test_a_home_comes_back_from_its_backup(
    products: Callable[..., Product], product: Product, poster: str, tmp_path: Path
) -> None:
    product.until("the posters", lambda: product.get(f"/api/v1/tasks/{poster}")["status"] == "done", 120)
    file = str(tmp_path / "home.backup")
    assert product.command("backup", file).status == 0
    fresh = Product(tmp_path / "fresh", product.engine)

    restored = fresh.command("restore", file)

    assert restored.status == 0, restored.err
    again = products(fresh.home)
    assert again.token == product.token
    assert again.get(f"/api/v1/tasks/{poster}")["status"] == "done"
    pictures = again.items("/api/v1/objects", kind="image")
    assert len(pictures) == 3
    for picture in pictures:
        assert again.client.get(f"/api/v1/objects/{picture['id']}/content").content.startswith(b"\x89PNG")
