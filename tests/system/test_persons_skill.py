"""A review of a skill that a person wrote: the agent shows the change on a card, and the file is theirs to change."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support import story
from tests.support.product import Product
from tests.support.skilled_product import SkilledProduct

pytestmark = pytest.mark.long

ALARM = '''"""Alarms people of every reading that is above the limit."""
import inngest
from skills.kit import client, notify

MANIFEST = {
    "title": "Alarm", "purpose": "alarms of high readings",
    "permissions": {"notify": ["ops"], "events": {"listen": ["STEM/read"]}},
}
READING_ABOVE = 10

@client.create_function(fn_id="alarm", trigger=inngest.TriggerEvent(event="STEM/read"), retries=0)
def alarm(ctx: inngest.ContextSync) -> bool:
    value = float(str(ctx.event.data["value"]))
    if value > READING_ABOVE:
        ctx.step.run("tell", lambda: notify("ops", f"STEM reads {value}", ask=("real", "too late", "false alarm")))
    return value > READING_ABOVE
'''


@pytest.fixture(scope="module")
def mine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A person's own folder of skills."""
    folder = tmp_path_factory.mktemp("mine")
    for stem in ("boiler", "freezer"):
        (folder / f"{stem}.py").write_text(ALARM.replace("STEM", stem))
    return folder


@pytest.fixture(scope="module")
def skills(products: Callable[..., Product], mine: Path) -> SkilledProduct:
    product = products(LOOPWRIGHT_SKILL_PATH=str(mine), LOOPWRIGHT_CANARY_RUNS="1")
    running = SkilledProduct(product)
    running.grant("boiler", "freezer")
    return running


def read(skills: SkilledProduct, stem: str, value: float) -> bool:
    """What one reading comes to."""
    function = f"skill-{stem}/alarm"
    known = {run["id"] for run in skills.runs(function)}
    skills.engine.send(f"{stem}/read", {"value": value})

    def ended() -> list[bool]:
        new = [run for run in skills.runs(function) if run["id"] not in known]
        return [run["output"] for run in new if run["status"] == "completed" and run["output"] is not None]

    return bool(skills.product.until(f"the run of {stem}", lambda: [ended()] if ended() else [], 90)[0][0])


def proposed(skills: SkilledProduct, stem: str) -> dict[str, Any]:
    """The card on which the agent shows its change, after alarms that people call false and a review of them."""
    for n in range(5):
        assert read(skills, stem, 11 + n)
    asked = [card for card in skills.cards("choice") if card["title"] == f"{stem} asks"]
    assert len(asked) == 5
    for card in asked:
        skills.answer(card, "false alarm")
    assert skills.product.post(f"/api/v1/skills/{stem}/review").status_code == 202

    def shown() -> list[dict[str, Any]]:
        return [card for card in skills.cards("permission") if card["title"] == f"May the agent change {stem}?"]

    (card,) = skills.product.until(f"the card about {stem}", shown, 120)
    return card


def task_of(skills: SkilledProduct, stem: str) -> str:
    (review,) = [one for one in skills.product.items(f"/api/v1/skills/{stem}/reviews") if one["task_id"]]
    return str(review["task_id"])


def test_an_accepted_change_is_saved_tried_and_serves(skills: SkilledProduct, mine: Path) -> None:
    # Given a review that finds a person's skill too sensitive
    file = mine / "boiler.py"
    before = file.read_text()

    card = proposed(skills, "boiler")

    # Then the card shows the change, and until somebody answers the file is as it was
    assert "-READING_ABOVE = 10" in card["body"]
    assert file.read_text() == before
    assert skills.skill("boiler")["version"] == 1

    # When the person accepts, then exactly that is saved, tried, and serves in the end
    skills.answer(card, "grant")

    def serves() -> bool:
        if (found := skills.skill("boiler"))["status"] == "active" and found["version"] == 2:
            return True
        read(skills, "boiler", 100)
        return False

    skills.product.until("version 2 of boiler", serves, 180)
    after = file.read_text()
    (line,) = set(after.split("\n")) - set(before.split("\n"))
    assert line == "READING_ABOVE = 20.0"
    assert f"+{line}" in card["body"]
    newest = skills.product.items("/api/v1/skills/boiler/versions")[0]
    assert (newest["version"], newest["author"]) == (2, "agent")
    assert read(skills, "boiler", 10.5) is False
    story.ended(skills.product, task_of(skills, "boiler"))


def test_a_refused_change_changes_nothing(skills: SkilledProduct, mine: Path) -> None:
    file = mine / "freezer.py"
    before = file.read_text()
    card = proposed(skills, "freezer")

    skills.answer(card, "refuse")

    story.ended(skills.product, task_of(skills, "freezer"))
    assert file.read_text() == before
    assert read(skills, "freezer", 11)
    found = skills.skill("freezer")
    assert (found["status"], found["version"], found["problems"]) == ("active", 1, [])
    assert len(skills.product.items("/api/v1/skills/freezer/versions")) == 1
