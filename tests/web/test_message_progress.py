"""What `say --wait` says of a task that was there before, over prepared rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx

from app.cli.client.api import Api
from app.cli.client.progress import MessageProgress
from runtime.cards import cards
from runtime.commands import control
from runtime.inbox import inbox, messages
from runtime.statuses import CardKind, InputKind, MessageState
from runtime.tables import routes
from runtime.tasks import tasks
from tests.web.site.pictures import poster
from tests.web.site.site import Site
from tests.web.site.workspace_rows import insert_workspace_rows
from workspace import objects


def test_made_is_only_what_the_task_made_since_the_message_with_its_version(site: Site) -> None:
    # Given a task with two posters, half of its plan done, and an open card, that is spoken to
    rows = insert_workspace_rows(site)
    message_id = _told(site, rows.task_id)
    progress = MessageProgress(Api(site.url, site.token), message_id)

    # When nothing has come of it yet, then nothing is said to be made or done, and it goes on
    assert progress.read_new_lines() == [f"→ task {rows.task_id}"]
    assert not progress.ended

    # When the task makes a new version of one, and a person one of the other
    warmer = site.dependencies.assets.put(poster("WARMER"))
    for work_id, maker in zip(rows.pictures, (f"task:{rows.task_id}", f"person:{site.person_id}"), strict=True):
        _on_top(site, work_id, warmer, maker)

    # Then the first is told, once
    title = site.get(f"/api/v1/objects/{rows.pictures[0]}")["title"]
    assert progress.read_new_lines() == [f"made {title} v2 ({rows.pictures[0]})"]
    assert progress.read_new_lines() == []


def test_work_that_stands_still_before_the_message_is_read_ends_it(site: Site) -> None:
    # Given a task with cards that was blocked since the model is down, and a message that waits for it
    rows = insert_workspace_rows(site)
    message_id = _told(site, rows.task_id)
    progress = MessageProgress(Api(site.url, site.token), message_id)
    assert (len(progress.read_new_lines()), progress.ended) == (1, False)
    with site.writing() as scope:
        tasks.set_task_fields(scope, rows.task_id, status="blocked", reason="the model is away")
        card_id = cards.open_card(
            scope,
            kind=CardKind.BLOCKED,
            title="The work stands still",
            body="",
            options=({"id": "retry", "label": "Try again"},),
            cause="blocked",
            task_id=rows.task_id,
        ).id

    # When it is looked at, then the card is shown and there is no more to come
    lines = progress.read_new_lines()
    assert progress.ended
    assert any(f"loopwright answer {card_id} retry" in line for line in lines)
    assert f"{rows.task_id} is blocked" in lines[-1]


def test_a_task_that_is_stopped_before_the_message_is_read_ends_it(site: Site) -> None:
    rows = insert_workspace_rows(site)
    message_id = _told(site, rows.task_id)
    with site.writing() as scope:
        control.stop_task(scope, rows.task_id)
    assert site.get(f"/api/v1/messages/{message_id}")["state"] == "superseded"

    progress = MessageProgress(Api(site.url, site.token), message_id)

    assert progress.read_new_lines()[1:] == ["the message is superseded", f"{rows.task_id} is stopped"]
    assert progress.ended


def test_other_tasks_cards_are_not_shown(site: Site) -> None:
    # Given a card of another task, and one of this task that comes after the message
    rows = insert_workspace_rows(site)
    message_id = _told(site, rows.task_id)
    with site.writing() as scope:
        other = tasks.create_task(
            scope, kind="light", goal="g", language="en", person_id=site.person_id, asked_by="person", cause="other"
        ).id
        ids = [
            cards.open_card(
                scope,
                kind=CardKind.CHECKPOINT,
                title="Go on?",
                body="",
                options=({"id": "continue", "label": "Go on"},),
                cause=f"checkpoint:{task_id}",
                task_id=task_id,
            ).id
            for task_id in (other, rows.task_id)
        ]

    # When it is looked at, then it has ended with that one
    progress = MessageProgress(Api(site.url, site.token), message_id)
    said = "\n".join(progress.read_new_lines())
    assert progress.ended
    assert ids[1] in said
    assert ids[0] not in said


def test_what_ends_while_it_is_looked_at_is_told_whole_at_the_next_look(site: Site) -> None:
    # Given a task whose film comes, with the card of its result, just after somebody has looked at the task
    rows = insert_workspace_rows(site)
    message_id = _told(site, rows.task_id)

    def comes() -> None:
        _on_top(site, rows.pictures[0], site.dependencies.assets.put(poster("WARMER")), f"task:{rows.task_id}")
        with site.writing() as scope:
            cards.open_card(
                scope,
                kind=CardKind.RESULT,
                title="Warmer",
                body="",
                options=cards.RESULT_OPTIONS,
                cause="result",
                task_id=rows.task_id,
            )

    after = _After(f"/api/v1/tasks/{rows.task_id}", comes)
    progress = MessageProgress(Api(site.url, site.token, after), message_id)

    # When it is looked at, then it has not ended without what was made
    first = progress.read_new_lines()
    assert (first, progress.ended) == ([f"→ task {rows.task_id}"], False)
    second = progress.read_new_lines()
    assert progress.ended
    assert second[0].startswith("made ")


class _After(httpx.HTTPTransport):
    """Lets something happen between the first answer to a path and whatever is asked next."""

    def __init__(self, path: str, happens: Callable[[], None]) -> None:
        super().__init__()
        self._path, self._happens = path, [happens]

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        response = super().handle_request(request)
        if request.url.path == self._path and self._happens:
            response.read()
            self._happens.pop()()
        return response


def _told(site: Site, task_id: str) -> str:
    """A message in the inbox of a task that no step has read."""
    message_id = site.say("Could the set be a touch warmer?", task_id=task_id)
    with site.writing() as scope:
        scope.insert(
            routes,
            message_id=message_id,
            level="explicit",
            outcome="existing",
            task_id=task_id,
            reasons=[],
            candidates=[],
            object_ids=[],
            created_at=scope.now,
        )
        messages.set_message_state(
            scope, message_id, MessageState.DELIVERED, was=(MessageState.RECEIVED,), task_id=task_id
        )
        inbox.store_input(scope, task_id, InputKind.MESSAGE, message_id)
    return message_id


def _on_top(site: Site, work_id: str, asset: Any, maker: str) -> None:
    with site.writing() as scope:
        work = objects.get_object(scope, work_id)
        objects.add_version(
            scope,
            work_id,
            base_version=work.version,
            media_type=asset.media_type,
            size=asset.size,
            sha256=asset.sha256,
            created_by=maker,
            cause=f"warmer:{work_id}",
        )
