"""Rows of a workspace in the middle of its work, as the functions would leave them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal

from core.database import Scope
from generation.tables import orders
from runtime import cards, checklist, messages, notices, tasks
from runtime.checklist import NewStep
from runtime.tables import calls, checklist_steps, inbox, routes, steps, turns, waits
from tests.web.site.pictures import film, poster, sound
from tests.web.site.site import Site
from workspace import objects

GOAL = "Make me a set of three retro posters for the Harbour Festival, navy and cream."
MARKUP = """**Two of three** are done.

- navy ground
- cream type

<script>alert(1)</script> [a link](javascript:alert(1)) ![far](https://example.com/a.png)"""


@dataclass(frozen=True)
class Prepared:
    """Ids of what was made."""

    message_id: str
    task_id: str
    card_id: str
    order_id: str
    pictures: tuple[str, ...]
    film_id: str
    document_id: str
    turn_id: str


def prepare(site: Site) -> Prepared:
    """A task with two of three posters, a plan, an open quote, a running order; a quick task with a film."""
    pictures = [site.parts.assets.put(poster(words)) for words in ("HARBOUR", "FESTIVAL")]
    moving, heard = site.parts.assets.put(film()), site.parts.assets.put(sound())
    page = site.parts.assets.put(
        b"# Shot list\n\n1. Dawn over the **quay**\n2. The brass band", declared="text/markdown"
    )
    with site.writing() as scope:
        message = messages.receive(scope, person_id=site.person_id, asked_by="person", channel_id=None, text=GOAL)
        task = tasks.create(
            scope,
            kind="persistent",
            goal=GOAL,
            language="en",
            person_id=site.person_id,
            asked_by="person",
            cause=message.id,
        )
        tasks.set_fields(
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
        messages.set_state(scope, message.id, "consumed", was=("received",), task_id=task.id)
        turn_id = _turn(scope, task.id, message.id)
        made = []
        for n, asset in enumerate(pictures, start=1):
            work = objects.create(
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
        _plan(scope, task.id, made)
        order_id = _order(scope, task.id, turn_id)
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
            kind="quote",
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
        messages.say(
            scope,
            person_id=site.person_id,
            text=MARKUP,
            task_id=task.id,
            reply_to=None,
            cause="said:1",
            language="en",
            turn_id=turn_id,
        )
        light = tasks.create(
            scope,
            kind="light",
            goal="Turn the first one into a two-second film",
            language="en",
            person_id=site.person_id,
            asked_by="person",
            cause="light:1",
        )
        tasks.set_fields(scope, light.id, status="done")
        film_work = objects.create(
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
        objects.create(
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
        document = objects.create(
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
        question = messages.receive(
            scope, person_id=site.person_id, asked_by="person", channel_id=None, text="Which video lengths can you do?"
        )
        messages.set_state(scope, question.id, "answered", was=("received",))
        messages.say(
            scope,
            person_id=site.person_id,
            text="Films of **2, 5 or 10 seconds**, at 0.10 USD a second.",
            task_id=None,
            reply_to=question.id,
            cause="said:2",
            language="en",
        )
        notices.tell(scope, "person", "The studio was away for a minute; nothing was lost.", "away:1")
        return Prepared(message.id, task.id, card.id, order_id, tuple(made), film_work.id, document.id, turn_id)


def make_progress(site: Site, order_id: str, progress: float) -> None:
    """What a poll of the provider writes."""
    with site.writing() as scope:
        scope.change(scope.update(orders).where(orders.c.id == order_id).values(progress=progress, state="running"))
        scope.changed("generation", order_id)


def _turn(scope: Scope, task_id: str, message_id: str) -> str:
    turn_id = scope.ids.new("turn")
    scope.insert(
        turns,
        id=turn_id,
        task_id=task_id,
        cause=f"message:{message_id}",
        status="waiting",
        reason="",
        epoch=1,
        ring=0,
        touched_at=scope.now,
        rung_at=scope.now,
        created_at=scope.now,
        started_at=scope.now,
        ended_at=scope.now,
    )
    scope.insert(
        inbox,
        id=scope.ids.new("in"),
        task_id=task_id,
        kind="message",
        ref_id=message_id,
        state="consumed",
        position=1,
        turn_id=turn_id,
        step=1,
        created_at=scope.now,
        consumed_at=scope.now,
    )
    for n, names in enumerate((("set_brief", "create_checklist"), ("generate_image",) * 3), start=1):
        scope.insert(
            steps,
            turn_id=turn_id,
            n=n,
            epoch=1,
            text="",
            model="standin-1",
            tokens=840 + n,
            cached_tokens=512,
            layers={},
            facts=[],
            cut=False,
            created_at=scope.now,
        )
        for seq, name in enumerate(names):
            scope.insert(
                calls,
                id=f"{turn_id}:{n}:{seq}",
                turn_id=turn_id,
                step=n,
                seq=seq,
                tool=name,
                effect="paid" if name == "generate_image" else "write",
                arguments="{}",
                status="done",
                epoch=1,
                ok=True,
                result={},
                started_at=scope.now,
                finished_at=scope.now,
            )
    return turn_id


def _plan(scope: Scope, task_id: str, made: list[str]) -> None:
    names = ("Write the brief", "First poster", "Second poster", "Third poster", "Check the set")
    checklist.create(scope, task_id, [NewStep(name, f"{name} is there", name == "Check the set", ()) for name in names])
    done = {1: [], 2: [{"kind": "object", "id": made[0]}], 3: [{"kind": "object", "id": made[1]}]}
    for n, evidence in done.items():
        mine = scope.update(checklist_steps).where(checklist_steps.c.task_id == task_id, checklist_steps.c.n == n)
        scope.change(mine.values(status="done", evidence=evidence))
    mine = scope.update(checklist_steps).where(checklist_steps.c.task_id == task_id, checklist_steps.c.n == 4)
    scope.change(mine.values(status="waiting"))


def _order(scope: Scope, task_id: str, turn_id: str) -> str:
    order_id = scope.ids.new("order")
    scope.insert(
        orders,
        id=order_id,
        task_id=task_id,
        turn_id=turn_id,
        call_id=f"{turn_id}:2:2",
        key=f"{turn_id}:2:2",
        digest="0" * 64,
        title="Harbour poster 3",
        kind="image",
        provider="studio",
        model="studio-poster-1",
        params={},
        inputs=[],
        state="running",
        progress=0.35,
        quote=Decimal("0.04"),
        currency="USD",
        outputs=[],
        object_ids=[],
        epoch=1,
        ring=0,
        news_at=scope.now,
        rung_at=scope.now,
        created_at=scope.now,
        submitted_at=scope.now,
        deadline=scope.now + timedelta(hours=1),
    )
    scope.changed("generation", order_id)
    return order_id
