"""The worker dies before and after every commit of a review and of a failed run's notice: each is done once."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.product import LOADED_FIRST, Product
from tests.support.prometheus import Receiver, receiver
from tests.support.skilled_product import SkilledProduct

pytestmark = pytest.mark.kill

SKILL = '''"""Asks people about whatever it is shown."""

import inngest

from skills.kit import client, notify

MANIFEST = {
    "title": "Guard",
    "purpose": "asks people about what it is shown",
    "permissions": {"events": {"listen": ["guard/shown"], "send": []}, "notify": ["ops"]},
}
SENSITIVITY = 1.0


@client.create_function(fn_id="look", trigger=inngest.TriggerEvent(event="guard/shown"), retries=0)
def look(ctx: inngest.ContextSync) -> float:
    text = str(ctx.event.data["text"])
    if text == "nonsense":
        raise inngest.NonRetriableError("nobody can read that")
    ctx.step.run("ask", lambda: notify("ops", text, ask=("real", "false alarm")))
    return SENSITIVITY
'''
COMMITS = ("review.requested", "review.gathered", "review.judged", "review.done", "run_failed.told")
POINTS = [f"{name}.{edge}" for name in COMMITS for edge in ("before_commit", "after_commit")]


def test_a_review_and_a_failure_are_secret_member_however_often_the_worker_dies(
    products: Callable[..., Product],
) -> None:
    with receiver() as ops:
        dying = {"LOOPWRIGHT_CRASH_AT": ",".join(POINTS), "LOOPWRIGHT_NOTIFY_OPS": ops.url}
        _story(products(program=LOADED_FIRST, **dying), ops)


def _story(product: Product, ops: Receiver) -> None:
    skills = SkilledProduct(product)
    skills.save("guard", SKILL)
    skills.grant("guard")
    for n in range(5):
        skills.engine.send("guard/shown", {"text": f"number {n}"})
    cards = product.until("five questions", lambda: found if len(found := skills.cards("choice")) == 5 else [], 60)
    for card in cards:
        skills.answer(card, "false alarm")
    function = "skill-guard/look"
    product.until("five runs", lambda: [one["status"] for one in skills.runs(function)] == ["completed"] * 5, 60)

    skills.engine.send("skill/review.requested", {"workspace_id": "ws_local", "skill_id": "guard"})
    skills.engine.send("guard/shown", {"text": "nonsense"})

    crashed = product.home / "crash"
    product.until("every crash", lambda: {one.name for one in crashed.iterdir()} >= set(POINTS), 180)
    product.until(
        "the review", lambda: [one["state"] for one in product.items("/api/v1/skills/guard/reviews")] == ["done"], 120
    )
    beginnings = ("Review of guard", "skill-guard-look failed")

    def told() -> list[str]:
        return [text.partition(":")[0] for text in ops.texts if text.startswith(beginnings)]

    product.until("both notices", lambda: set(told()) == set(beginnings), 60)
    assert sorted(told()) == sorted(beginnings)
    (review,) = product.items("/api/v1/skills/guard/reviews")
    (task,) = [one for one in product.items("/api/v1/tasks") if "guard" in one["goal"]]
    assert (review["task_id"], review["proposal"]["changes"][0]["to"]) == (task["id"], 0.5)
