"""Rows of a workspace in the middle of its work, as the functions would leave them."""

from __future__ import annotations

from dataclasses import dataclass

from generation.tables import orders
from runtime import notices
from runtime.cards import cards
from runtime.inbox import messages
from runtime.statuses import CardKind, MessageState
from runtime.tables import routes, waits
from runtime.tasks import tasks
from tests.web.site.pictures import film, poster, sound
from tests.web.site.site import Site
from tests.web.site.turn_rows import insert_half_done_plan, insert_running_order, insert_turn
from workspace import objects

GOAL = "Make me a set of three retro posters for the Harbour Festival, navy and cream."
MARKUP = """**Two of three** are done.

- navy ground
- cream type

<script>alert(1)</script> [a link](javascript:alert(1)) ![far](https://example.com/a.png)"""


@dataclass(frozen=True)
class WorkspaceRows:
    """Ids of what was made."""

    message_id: str
    task_id: str
    card_id: str
    order_id: str
    pictures: tuple[str, ...]
    film_id: str
    document_id: str
    turn_id: str


def insert_workspace_rows(site: Site) -> WorkspaceRows:
    """A task with two of three posters, a plan, an open quote, a running order; a quick task with a film."""
    pictures = [site.dependencies.assets.put(poster(words)) for words in ("HARBOUR", "FESTIVAL")]
    moving, heard = site.dependencies.assets.put(film()), site.dependencies.assets.put(sound())
    page = site.dependencies.assets.put(
        b"# Shot list\n\n1. Dawn over the **quay**\n2. The brass band", declared="text/markdown"
    )
    with site.writing() as scope:
        message = messages.receive_message(
            scope, person_id=site.person_id, asked_by="person", channel_id=None, text=GOAL
        )
        task = tasks.create_task(
            scope,
            kind="persistent",
            goal=GOAL,
            language="en",
            person_id=site.person_id,
            asked_by="person",
            cause=message.id,
        )
        tasks.set_task_fields(
            scope,
            task.id,
            status="waiting",
            brief="Three posters in one **retro** voice: flat shapes, navy `#1a3054` on cream, one warm accent.",
        )
        scope.insert(
            routes,
            message_id=message.id,
            level="semantic",
            outcome="new",
            task_id=task.id,
            reasons=["a new set of works"],
            candidates=[],
            object_ids=[],
            created_at=scope.now,
        )
        messages.set_message_state(
            scope, message.id, MessageState.CONSUMED, was=(MessageState.RECEIVED,), task_id=task.id
        )
        turn_id = insert_turn(scope, task.id, message.id)
        made = []
        for n, asset in enumerate(pictures, start=1):
            work = objects.create_object(
                scope,
                kind="image",
                title=f"Harbour poster {n}",
                media_type=asset.media_type,
                size=asset.size,
                sha256=asset.sha256,
                created_by=f"task:{task.id}",
                cause=f"picture:{n}",
                task_id=task.id,
                recipe={"model": "studio-poster-1", "prompt": "navy and cream"},
            )
            made.append(work.id)
        insert_half_done_plan(scope, task.id, made)
        order_id = insert_running_order(scope, task.id, turn_id)
        scope.insert(
            waits,
            id=scope.ids.new("wait"),
            task_id=task.id,
            turn_id=turn_id,
            kind="generation",
            refs=[order_id],
            who="the studio makes the third poster",
            then="the set is checked",
            created_at=scope.now,
        )
        card = cards.open_card(
            scope,
            kind=CardKind.QUOTE,
            title="1 film for 0.50 USD",
            body="A teaser that pans over the three posters.",
            options=cards.QUOTE_OPTIONS,
            cause="quote:1",
            task_id=task.id,
            turn_id=turn_id,
            quote={
                "amount": "0.50",
                "currency": "USD",
                "lines": [
                    {
                        "title": "Teaser",
                        "kind": "video",
                        "model": "studio-film-1",
                        "seconds": 5,
                        "amount": "0.50",
                        "currency": "USD",
                    }
                ],
                "plan_digest": "0" * 64,
            },
        )
        messages.store_agent_message(
            scope,
            person_id=site.person_id,
            text=MARKUP,
            task_id=task.id,
            reply_to=None,
            cause="said:1",
            language="en",
            turn_id=turn_id,
        )
        light = tasks.create_task(
            scope,
            kind="light",
            goal="Turn the first one into a two-second film",
            language="en",
            person_id=site.person_id,
            asked_by="person",
            cause="light:1",
        )
        tasks.set_task_fields(scope, light.id, status="done")
        film_work = objects.create_object(
            scope,
            kind="video",
            title="Harbour poster 1, moving",
            media_type=moving.media_type,
            size=moving.size,
            sha256=moving.sha256,
            created_by=f"task:{light.id}",
            cause="film:1",
            task_id=light.id,
        )
        objects.create_object(
            scope,
            kind="audio",
            title="Foghorn",
            media_type=heard.media_type,
            size=heard.size,
            sha256=heard.sha256,
            created_by=f"task:{light.id}",
            cause="sound:1",
            task_id=light.id,
        )
        document = objects.create_object(
            scope,
            kind="document",
            title="Shot list",
            media_type=page.media_type,
            size=page.size,
            sha256=page.sha256,
            created_by=f"person:{site.person_id}",
            cause="document:1",
            task_id=task.id,
        )
        question = messages.receive_message(
            scope, person_id=site.person_id, asked_by="person", channel_id=None, text="Which video lengths can you do?"
        )
        messages.set_message_state(scope, question.id, MessageState.ANSWERED, was=(MessageState.RECEIVED,))
        messages.store_agent_message(
            scope,
            person_id=site.person_id,
            text="Films of **2, 5 or 10 seconds**, at 0.10 USD a second.",
            task_id=None,
            reply_to=question.id,
            cause="said:2",
            language="en",
        )
        notices.store_notice(scope, "person", "The studio was away for a minute; nothing was lost.", "away:1")
        return WorkspaceRows(message.id, task.id, card.id, order_id, tuple(made), film_work.id, document.id, turn_id)


def make_progress(site: Site, order_id: str, progress: float) -> None:
    """What a poll of the provider writes."""
    with site.writing() as scope:
        scope.change(scope.update(orders).where(orders.c.id == order_id).values(progress=progress, state="running"))
        scope.changed("generation", order_id)
