"""The main thread: messages and cards without a task, tasks, and notices, in order of time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, cast

import sqlalchemy as sa
from typing_extensions import TypedDict

from app.web.http.paging import PagePlace, encode_cursor
from app.web.presenters.card import CardShape, card_by_id, card_shape
from app.web.presenters.generation import GenerationShape, generations_of_task
from app.web.presenters.last_message import last_messages
from app.web.presenters.message import MessageHead, MessageShape, message_head, messages_in_full
from app.web.presenters.notice import NoticeShape, notice_by_id
from app.web.presenters.object import ObjectShape, object_shape
from app.web.presenters.task import TaskHead, objects_of_task, task_head
from core.database import Scope
from runtime.cards import cards
from runtime.inbox import messages
from runtime.inbox.messages import Message
from runtime.statuses import ChecklistStatus, MessageState
from runtime.tables import cards as card_rows
from runtime.tables import messages as message_rows
from runtime.tables import notices as notice_rows
from runtime.tables import tasks as task_rows
from runtime.tasks import checklist, tasks
from runtime.tasks.tasks import Task


class ChecklistProgress(TypedDict):
    """Counts of the checklist's steps."""

    done: int
    total: int


class TaskInThread(TaskHead):
    """A task with its progress, newest works, open cards, running generations and last message."""

    progress: ChecklistProgress
    objects: list[ObjectShape]
    open_cards: list[CardShape]
    generations: list[GenerationShape]
    last_message: MessageHead | None


class MessageEntry(MessageShape):
    type: Literal["message"]


class TaskEntry(TaskInThread):
    type: Literal["task"]


class CardEntry(CardShape):
    type: Literal["card"]


class NoticeEntry(NoticeShape):
    type: Literal["notice"]


Entry = MessageEntry | TaskEntry | CardEntry | NoticeEntry


class ThreadPage(TypedDict):
    """A page of the thread, oldest first."""

    items: list[Entry]
    next: str | None


class ThreadEnd(TypedDict):
    """The newest entries, oldest first; `before` is the cursor of older ones, or null."""

    items: list[Entry]
    before: str | None


@dataclass(frozen=True)
class _Entry:
    at: datetime
    id: str
    type: str


def thread_after(scope: Scope, person_id: str, after: PagePlace | None, size: int) -> ThreadPage:
    """Return the entries after a place, oldest first."""
    entries = _entries(scope, person_id, after, size + 1, newest_first=False)
    page = entries[:size]
    following = encode_cursor(page[-1].at, page[-1].id) if len(entries) > size else None
    return {"items": _items(scope, page), "next": following}


def newest_of_thread(scope: Scope, person_id: str, before: PagePlace | None, size: int) -> ThreadEnd:
    """Return the newest entries before a place, oldest first."""
    entries = _entries(scope, person_id, before, size + 1, newest_first=True)
    page = entries[:size]
    older = encode_cursor(page[-1].at, page[-1].id) if len(entries) > size else None
    return {"items": _items(scope, page[::-1]), "before": older}


def _tasks_in_thread(scope: Scope, task_ids: Sequence[str]) -> dict[str, TaskInThread]:
    """Return the shapes of tasks for the main thread, by id."""
    found = [tasks.get_task(scope, task_id) for task_id in task_ids]
    last = last_messages(scope, found)
    return {task.id: _task_in_thread(scope, task, last.get(task.id)) for task in found}


def _task_in_thread(scope: Scope, task: Task, last: Message | None) -> TaskInThread:
    steps = checklist.list_checklist(scope, task.id)
    return {
        **task_head(scope, task),
        "progress": {"done": sum(step.status == ChecklistStatus.DONE for step in steps), "total": len(steps)},
        "objects": [object_shape(work) for work in objects_of_task(scope, task.id)][-12:],
        "open_cards": [card_shape(card) for card in cards.list_open_cards(scope, task.id)],
        "generations": generations_of_task(scope, task.id, unfinished=True),
        "last_message": message_head(last) if last else None,
    }


def _items(scope: Scope, entries: Sequence[_Entry]) -> list[Entry]:
    in_main = messages.list_messages_by_ids(scope, [entry.id for entry in entries if entry.type == "message"])
    shapes: dict[str, Any] = {message["id"]: message for message in messages_in_full(scope, in_main)}
    shapes |= _tasks_in_thread(scope, [entry.id for entry in entries if entry.type == "task"])
    for entry in entries:
        if entry.type in _SHAPES:
            shapes[entry.id] = _SHAPES[entry.type](scope, entry.id)
    return [cast(Entry, {"type": entry.type, **shapes[entry.id]}) for entry in entries]


_SHAPES: Mapping[str, Callable[[Scope, str], CardShape | NoticeShape]] = {"card": card_by_id, "notice": notice_by_id}


@dataclass(frozen=True)
class _Source:
    """The rows of one type that belong in the thread, and the time by which each is placed."""

    table: sa.Table
    belongs: sa.ColumnElement[bool]
    type: str
    at: sa.ColumnElement[datetime]


def _entries(scope: Scope, person_id: str, place: PagePlace | None, limit: int, *, newest_first: bool) -> list[_Entry]:
    # Newest first, a task is placed by its last message from a person; oldest first, by its creation.
    task_at = _last_spoken_to() if newest_first else task_rows.c.created_at
    sources = (
        _Source(message_rows, _in_main(person_id), "message", message_rows.c.created_at),
        _Source(task_rows, task_rows.c.person_id == person_id, "task", task_at),
        _Source(card_rows, card_rows.c.task_id.is_(None), "card", card_rows.c.created_at),
        _Source(notice_rows, notice_rows.c.audience == "person", "notice", notice_rows.c.created_at),
    )
    found = [
        _Entry(row.at, row.id, source.type)
        for source in sources
        for row in scope.rows(_slice(scope, source, place, limit, newest_first=newest_first))
    ]
    return sorted(found, key=lambda entry: (entry.at, entry.id), reverse=newest_first)[:limit]


def _last_spoken_to() -> sa.ColumnElement[datetime]:
    last = (
        sa.select(sa.func.max(message_rows.c.created_at))
        .where(
            message_rows.c.workspace_id == task_rows.c.workspace_id,
            message_rows.c.task_id == task_rows.c.id,
            message_rows.c.author == "user",
            message_rows.c.to_task_id.is_(None),
        )
        .correlate(task_rows)
        .scalar_subquery()
    )
    return sa.func.coalesce(last, task_rows.c.created_at)


def _in_main(person_id: str) -> sa.ColumnElement[bool]:
    typed_here = sa.and_(message_rows.c.author == "user", message_rows.c.to_task_id.is_(None))
    said_here = sa.and_(message_rows.c.author == "agent", message_rows.c.task_id.is_(None))
    return sa.and_(
        message_rows.c.person_id == person_id,
        message_rows.c.state != MessageState.REPLACED,
        sa.or_(typed_here, said_here),
    )


def _slice(scope: Scope, source: _Source, place: PagePlace | None, limit: int, *, newest_first: bool) -> sa.Select[Any]:
    at, row_id = source.at, source.table.c.id
    query = scope.select(at.label("at"), row_id).where(source.belongs)
    if place is not None:
        when, which = place
        beyond = (at < when, row_id < which) if newest_first else (at > when, row_id > which)
        query = query.where(sa.or_(beyond[0], sa.and_(at == when, beyond[1])))
    order = (at.desc(), row_id.desc()) if newest_first else (at, row_id)
    return query.order_by(*order).limit(limit)
