"""A running product whose skills a test saves, grants, starts and looks at."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from core.orchestrator.engine import Engine
from skills.folders import SHIPPED_FOLDER
from tests.support.product import Product

MOST_SECONDS = 240.0
"""Seconds in which a function has failed after three retries, even where each waits as long as Inngest may let it."""


class SkilledProduct:
    """Requests to the product as its person, and to its engine with the engine's keys."""

    def __init__(self, product: Product) -> None:
        self.product = product

    @cached_property
    def engine(self) -> Engine:
        if self.product.engine != "embedded":
            told = self.product.engine_keys
            return Engine.at(self.product.engine, told.get("INNGEST_SIGNING_KEY"), told.get("INNGEST_EVENT_KEY"))
        keys = self.product.home / "keys"
        port = self.product.row("engine").port
        return Engine.at(
            f"http://127.0.0.1:{port}", *((keys / name).read_text().strip() for name in ("signing", "event"))
        )

    def copy(self, shipped: str, stem: str, replaced: Mapping[str, str]) -> None:
        """Save a shipped skill under another name, with some texts replaced."""
        text = (SHIPPED_FOLDER / f"{shipped}.py").read_text()
        for old, new in replaced.items():
            assert old in text, f"{old} does not stand in {shipped}"
            text = text.replace(old, new)
        self.save(stem, text)

    def save(self, stem: str, text: str) -> None:
        folder = self.product.home / "workspace" / "functions"
        folder.mkdir(parents=True, exist_ok=True)
        unfinished = folder / f".{stem}.tmp"
        unfinished.write_text(text)
        os.replace(unfinished, folder / f"{stem}.py")

    def text(self, stem: str) -> str:
        return (self.product.home / "workspace" / "functions" / f"{stem}.py").read_text()

    def skill(self, stem: str) -> dict[str, Any]:
        return next((one for one in self.product.items("/api/v1/skills") if one["id"] == stem), {})

    def cards(self, kind: str) -> list[dict[str, Any]]:
        return [card for card in self.product.items("/api/v1/cards", state="open") if card["kind"] == kind]

    def answer(self, card: dict[str, Any], option: str) -> None:
        answered = self.product.post(f"/api/v1/cards/{card['id']}/answer", {"option": option})
        assert answered.status_code == 200, answered.text[:500]

    def grant(self, *stems: str) -> None:
        """Grant what these skills ask for and wait until they serve."""

        def asked() -> list[dict[str, Any]]:
            found = [card for card in self.cards("permission") if any(f" {stem} " in card["title"] for stem in stems)]
            return found if len(found) == len(stems) else []

        for card in self.product.until(f"the cards of {stems}", asked, 60):
            self.answer(card, "grant")
        self.product.until(f"{stems} live", lambda: all(self.skill(stem)["status"] == "active" for stem in stems), 60)

    def live(self, stem: str, version: int, seconds: float = 90) -> dict[str, Any]:
        def serves() -> dict[str, Any]:
            skill = self.skill(stem)
            return skill if (skill.get("status"), skill.get("version")) == ("active", version) else {}

        return self.product.until(f"version {version} of {stem}", serves, seconds)

    def start(self, stem: str, function: str) -> str:
        """Start one run now, whatever its trigger, and return its id."""
        path = f"/v2/apps/skill-{stem}/functions/{function}/invoke"
        return str(self.engine.post(path, {"data": {}})["data"]["runId"])

    def run(self, run_id: str, seconds: float = 90) -> dict[str, Any]:
        """Wait until a run has ended and return it, with its output if it completed."""

        def ended() -> dict[str, Any]:
            answer = self.product.client.get(f"/api/v1/runs/{run_id}")
            if answer.status_code == 404:
                # Some engines write their history a little later.
                return {}
            assert answer.status_code == 200, answer.text[:500]
            run: dict[str, Any] = answer.json()
            there = run["status"] == "failed" or (run["status"] == "completed" and run["output"] is not None)
            return run if there else {}

        try:
            return self.product.until(f"the end of run {run_id}", ended, seconds)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.product.get(f'/api/v1/runs/{run_id}')}") from None

    def runs(self, function: str) -> list[dict[str, Any]]:
        """Return the runs of a function with their details, oldest first; `function` is `<app>/<fn_id>`."""
        listed = self.product.items("/api/v1/runs", function=function)
        return [self.product.get(f"/api/v1/runs/{run['id']}") for run in reversed(listed)]
