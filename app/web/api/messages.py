"""Messages and the main thread."""

from __future__ import annotations

from pydantic import Field
from typing_extensions import TypedDict

from app.web.http import paging
from app.web.http.authorization import require_own_message
from app.web.http.dependencies import WebDependencies
from app.web.http.endpoints import Endpoints
from app.web.http.inputs import Body
from app.web.presenters.message import MessageShape, message_by_id
from app.web.presenters.thread import ThreadEnd, ThreadPage, newest_of_thread, thread_after
from core.database import Scope
from core.errors import ConflictError
from core.identity import Speaker
from functions.routable_works import RoutableWorks
from router.reroute import reroute_message
from runtime.cards import cards
from runtime.commands import withdrawal
from runtime.inbox import messages
from runtime.statuses import TaskStatus
from runtime.tasks import tasks
from workspace import objects

MOST_ATTACHMENTS = 20


class PostMessage(Body):
    """Text, attachments, or both."""

    text: str = ""
    attachments: list[str] = Field(default_factory=list, max_length=MOST_ATTACHMENTS)
    client_id: str | None = Field(default=None, min_length=1, max_length=200)
    task_id: str | None = None
    object_id: str | None = None
    card_id: str | None = None


class ReplaceMessage(Body):
    text: str


class Reroute(Body):
    """`new`, or the id of a task."""

    task_id: str


class Taken(TypedDict):
    """A stored message."""

    message_id: str
    state: str


def messages_api(dependencies: WebDependencies) -> Endpoints:
    endpoints = Endpoints(dependencies, "messages_api")
    works = RoutableWorks()

    @endpoints.acts(
        "/api/v1/messages", "Post a message; answered as soon as it is stored", body=PostMessage, status=202
    )
    def post_message(scope: Scope, speaker: Speaker, body: PostMessage) -> Taken:
        _check_addressee(scope, body)
        message = messages.receive_message(
            scope,
            person_id=speaker.person_id,
            asked_by=speaker.speaks_as,
            channel_id=None,
            text=body.text,
            attachments=body.attachments,
            client_id=body.client_id,
            to_task_id=body.task_id,
            to_object_id=body.object_id,
            to_card_id=body.card_id,
        )
        return {"message_id": message.id, "state": message.state}

    @endpoints.reads("/api/v1/messages/<message_id>", "A message, its route and who read it")
    def get_message(scope: Scope, speaker: Speaker, message_id: str) -> MessageShape:
        return message_by_id(scope, message_id)

    @endpoints.acts("/api/v1/messages/<message_id>/withdraw", "Withdraw a message that no step has read")
    def withdraw(scope: Scope, speaker: Speaker, body: Body, message_id: str) -> MessageShape:
        require_own_message(speaker, messages.get_message(scope, message_id))
        withdrawal.withdraw_message(scope, message_id)
        return message_by_id(scope, message_id)

    @endpoints.acts("/api/v1/messages/<message_id>/replace", "Replace its text", body=ReplaceMessage)
    def replace(scope: Scope, speaker: Speaker, body: ReplaceMessage, message_id: str) -> MessageShape:
        require_own_message(speaker, messages.get_message(scope, message_id))
        fresh = withdrawal.replace_message(
            scope, message_id, body.text, person_id=speaker.person_id, speaks_as=speaker.speaks_as
        )
        return message_by_id(scope, fresh.id)

    @endpoints.acts("/api/v1/messages/<message_id>/reroute", "Send it to another task, or to a new one", body=Reroute)
    def reroute(scope: Scope, speaker: Speaker, body: Reroute, message_id: str) -> MessageShape:
        require_own_message(speaker, messages.get_message(scope, message_id))
        reroute_message(scope, works, message_id, body.task_id)
        return message_by_id(scope, message_id)

    @endpoints.reads(
        "/api/v1/thread",
        "The main thread, oldest first; `newest=1` gives its end, with tasks where they were last spoken to",
        query={
            "newest": "1: the end of the thread instead of its beginning",
            "before": "the end before this place",
            "after": "what came after this place",
            **paging.PAGING_QUERY,
        },
    )
    def get_thread(scope: Scope, speaker: Speaker) -> ThreadPage | ThreadEnd:
        size = paging.page_size()
        if paging.wants_newest():
            return newest_of_thread(scope, speaker.person_id, paging.requested_place("before"), size)
        after = paging.requested_place("after") or paging.requested_place()
        return thread_after(scope, speaker.person_id, after, size)

    return endpoints


def _check_addressee(scope: Scope, body: PostMessage) -> None:
    # Refuse unknown ids here, so that every accepted message can be delivered.
    if body.task_id is not None and tasks.get_task(scope, body.task_id).status == TaskStatus.ARCHIVED:
        raise ConflictError(f"task {body.task_id} is archived: send the message without a task, or name another one")
    if body.object_id is not None:
        objects.get_object(scope, body.object_id)
    if body.card_id is not None:
        cards.get_card(scope, body.card_id)
    for object_id in body.attachments:
        objects.get_object(scope, object_id)
