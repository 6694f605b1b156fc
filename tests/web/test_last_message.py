"""What the thread's entry of a task goes on saying, and what it no longer says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from generation.tables import orders
from runtime.cards import cards
from runtime.commands import control
from runtime.inbox import messages
from runtime.statuses import CardKind
from runtime.tasks import tasks
from tests.web.site.site import Site
from tests.web.site.turn_rows import insert_running_order, insert_turn

WAITS = "Something waits for your decision."


@dataclass
class Film:
    """A light task whose turn has said something."""

    site: Site
    task_id: str
    turn_id: str

    @property
    def says(self) -> str | None:
        entries = self.site.get("/api/v1/thread")["items"]
        entry: dict[str, Any] = next(one for one in entries if one["id"] == self.task_id)
        return entry["last_message"] and str(entry["last_message"]["text"])

    def say(self, text: str) -> None:
        with self.site.writing() as scope:
            messages.store_agent_message(
                scope,
                person_id=self.site.person_id,
                text=text,
                task_id=self.task_id,
                reply_to=None,
                cause=text,
                language="en",
                turn_id=self.turn_id,
            )

    def ask(self) -> str:
        with self.site.writing() as scope:
            return cards.open_card(
                scope,
                kind=CardKind.CHECKPOINT,
                title="A film for 0.50 USD",
                body="",
                options=({"id": "approve", "label": "Approve"},),
                cause="asked",
                task_id=self.task_id,
                turn_id=self.turn_id,
            ).id

    def order(self) -> str:
        with self.site.writing() as scope:
            return insert_running_order(scope, self.task_id, self.turn_id)

    def end(self, order_id: str) -> None:
        with self.site.writing() as scope:
            ended = scope.update(orders).where(orders.c.id == order_id)
            scope.change(ended.values(state="succeeded", ended_at=scope.now))


@pytest.fixture
def film(site: Site) -> Film:
    message_id = site.say("A film, please")
    with site.writing() as scope:
        task = tasks.create_task(
            scope,
            kind="light",
            goal="A film",
            language="en",
            person_id=site.person_id,
            asked_by="person",
            cause=message_id,
        )
        return Film(site, task.id, insert_turn(scope, task.id, message_id))


def test_what_waits_is_said_until_the_card_is_answered(film: Film) -> None:
    card_id = film.ask()
    film.say(WAITS)
    assert film.says == WAITS

    assert film.site.post(f"/api/v1/cards/{card_id}/answer", {"option": "approve"}).status_code == 200

    assert film.says is None


def test_what_is_on_the_way_is_said_until_it_is_there(film: Film) -> None:
    first = film.order()
    film.say("A film on the way.")
    assert film.says == "A film on the way."

    film.end(first)

    assert film.says is None


def test_words_after_the_end_stay(film: Film) -> None:
    film.end(film.order())

    film.say("Done: a film.")

    assert film.says == "Done: a film."


def test_a_task_that_is_put_away_waits_for_nobody(film: Film) -> None:
    film.ask()
    film.say(WAITS)

    with film.site.writing() as scope:
        control.archive_task(scope, film.task_id)

    assert film.says is None


def test_a_task_that_is_stopped_announces_nothing(film: Film) -> None:
    film.order()
    film.say("A film on the way.")

    with film.site.writing() as scope:
        control.stop_task(scope, film.task_id)

    assert film.says is None
