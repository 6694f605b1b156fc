"""What people do to the product during a chaos run, over its HTTP API, repeating whatever was not answered."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, TypeVar

import httpx

from tests.support.product import Product
from tests.support.waiting import until

T = TypeVar("T")
_NEXT = "Could it be a touch warmer?"


class People:
    """Posts under client ids of their own, so that a repeated request is the same message; now and then all is sent
    twice. `posted` maps the ids of the accepted messages to their texts."""

    def __init__(self, product: Product, chance: random.Random) -> None:
        self._product = product
        self._chance = chance
        self.posted: dict[str, str] = {}

    def say(self, text: str, task_id: str | None = None) -> str:
        client_id = f"chaos-{len(self.posted)}"
        more = {} if task_id is None else {"task_id": task_id}
        twice = self._chance.random() < 0.2
        found = {self._patient(lambda: self._product.say(text, client_id=client_id, **more)) for _ in range(1 + twice)}
        assert len(found) == 1, f"one client id made the messages {found}"
        message_id = found.pop()
        self.posted[message_id] = text
        return message_id

    def follow_up(self) -> str:
        """Ask for a change of something that is done."""
        tasks = self._tasks("done")
        if not tasks:
            return "nothing is done yet"
        task_id = str(self._chance.choice(tasks)["id"])
        self.say(f"{_NEXT} ({len(self.posted)})", task_id)
        return task_id

    def stop(self) -> str:
        tasks = self._tasks("active,waiting")
        if not tasks:
            return "nothing to stop"
        task_id = str(self._chance.choice(tasks)["id"])
        self._patient(lambda: self._product.post(f"/api/v1/tasks/{task_id}/stop"))
        return task_id

    def withdraw(self, text: str) -> str:
        """Say something and take it back at once; too late is an answer too."""
        message_id = self.say(text)
        answer = self._patient(lambda: self._product.post(f"/api/v1/messages/{message_id}/withdraw"))
        return f"{message_id}: {answer.status_code}"

    def answer_cards(self) -> int:
        """Take the first option of every open card, but leave what is blocked at that; how many were answered."""
        try:
            open_ones = self._product.items("/api/v1/cards", state="open", limit="200")
            asking = [card for card in open_ones if card["kind"] != "blocked"]
            for card in asking:
                self._product.post(f"/api/v1/cards/{card['id']}/answer", {"option": card["options"][0]["id"]})
        except httpx.TransportError:
            return 0
        return len(asking)

    def _tasks(self, statuses: str) -> list[dict[str, Any]]:
        return self._patient(lambda: self._product.items("/api/v1/tasks", status=statuses, limit="200"))

    def _patient(self, ask: Callable[[], T]) -> T:
        """A process that was killed breaks connections: ask again until there is an answer."""

        def asked() -> list[T]:
            try:
                return [ask()]
            except httpx.TransportError:
                return []

        return until("an answer of the web process", asked, 90, every=0.2)[0]
