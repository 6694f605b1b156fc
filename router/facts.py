"""Gather what the router may know: recent tasks, older ones by their words, and the last things said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import sqlalchemy as sa

from core.database import Scope
from router.dependencies import RouteWork, RouteWorks
from router.words import find_keywords, word_overlap
from runtime.inbox import messages
from runtime.inbox.messages import Message
from runtime.statuses import OPEN_TASK_STATUSES, TaskStatus
from runtime.tables import tasks as task_rows
from runtime.tasks import tasks
from runtime.tasks.tasks import Task

MOST_RECENT_TASKS = 20
MOST_OLDER_TASKS = 5
MOST_THREAD_MESSAGES = 12
MOST_WORKS = 12
LIVING_STATUSES = (*OPEN_TASK_STATUSES, TaskStatus.DONE)
_SEARCH_WORDS = 6
_SEARCH_ROWS = 200


@dataclass(frozen=True)
class TaskFact:
    task: Task
    works: tuple[RouteWork, ...]


@dataclass(frozen=True)
class RoutingFacts:
    """`older` tasks may be archived or stopped: then the person can be told so."""

    message: Message
    recent: tuple[TaskFact, ...]
    older: tuple[TaskFact, ...]
    thread: tuple[Message, ...]
    attached: tuple[RouteWork, ...]

    @property
    def offered(self) -> Mapping[str, TaskFact]:
        """Every task that a verdict may name."""
        return {fact.task.id: fact for fact in (*self.recent, *self.older)}

    @property
    def works(self) -> frozenset[str]:
        """Every object that a verdict may name."""
        shown = [work.id for fact in (*self.recent, *self.older) for work in fact.works]
        return frozenset([*shown, *(work.id for work in self.attached)])


def gather_facts(scope: Scope, message: Message, works: RouteWorks) -> RoutingFacts:
    """The facts for one message."""
    recent = tasks.list_tasks(scope, LIVING_STATUSES, limit=MOST_RECENT_TASKS)
    older = _older(scope, message.text, {task.id for task in recent})
    known = works.of_tasks(scope, [task.id for task in (*recent, *older)])
    said = [
        one
        for one in messages.list_main_messages(scope, message.person_id, limit=MOST_THREAD_MESSAGES + 1)
        if one.id != message.id and one.created_at <= message.created_at
    ]
    about = [*message.attachments, *([message.to_object_id] if message.to_object_id else [])]
    return RoutingFacts(
        message=message,
        recent=tuple(_fact(task, known) for task in recent),
        older=tuple(_fact(task, known) for task in older),
        thread=tuple(said[-MOST_THREAD_MESSAGES:]),
        attached=tuple(works.by_ids(scope, about)) if about else (),
    )


def gather_facts_of_tasks(scope: Scope, message: Message, works: RouteWorks, task_ids: Sequence[str]) -> RoutingFacts:
    """The facts for one message that can only belong to these tasks, or to none that is there."""
    known = works.of_tasks(scope, task_ids)
    offered = tuple(_fact(tasks.get_task(scope, task_id), known) for task_id in task_ids)
    return replace(gather_facts(scope, message, works), recent=offered, older=())


def routing_facts_json(index: RoutingFacts, language: str) -> dict[str, Any]:
    """The index as the model reads it."""
    message = index.message
    return {
        "message": {
            "id": message.id,
            "text": message.text[:4000],
            "language": language,
            "attachments": [_work(work) for work in index.attached],
        },
        "thread": [
            {"author": one.author, "text": one.text[:300], "task_id": one.task_id or one.to_task_id}
            for one in index.thread
        ],
        "tasks": [_shown(fact) for fact in index.recent],
        "older": [_shown(fact) for fact in index.older],
    }


def likely_tasks(index: RoutingFacts, most: int = 5) -> list[str]:
    """The living tasks whose words are nearest to the message, for a question to the person."""
    living = [fact for fact in index.offered.values() if fact.task.status in LIVING_STATUSES]
    ranked = sorted(living, key=lambda fact: -word_overlap(index.message.text, _words_of(fact)))
    return [fact.task.id for fact in ranked[:most]]


def _older(scope: Scope, text: str, but: set[str]) -> list[Task]:
    sought = sorted(find_keywords(text), key=len, reverse=True)[:_SEARCH_WORDS]
    if not sought:
        return []
    searched = (task_rows.c.goal, task_rows.c.brief)
    fits = [column.icontains(word, autoescape=True) for word in sought for column in searched]
    query = scope.select(task_rows.c.id, *searched).where(sa.or_(*fits), task_rows.c.id.not_in(but))
    rows = scope.rows(query.order_by(task_rows.c.updated_at.desc()).limit(_SEARCH_ROWS))
    ranked = sorted(rows, key=lambda row: -word_overlap(text, f"{row.goal} {row.brief}"))
    return [tasks.get_task(scope, row.id) for row in ranked[:MOST_OLDER_TASKS]]


def _fact(task: Task, known: Mapping[str, Sequence[RouteWork]]) -> TaskFact:
    return TaskFact(task, tuple(known.get(task.id, ()))[:MOST_WORKS])


def _shown(fact: TaskFact) -> dict[str, Any]:
    task = fact.task
    return {
        "id": task.id,
        "kind": task.kind,
        "goal": task.goal[:400],
        "brief": "\n".join(task.brief.splitlines()[:4])[:400],
        "status": task.status,
        "updated_at": task.updated_at.isoformat(),
        "objects": [_work(work) for work in fact.works],
    }


def _work(work: RouteWork) -> dict[str, str]:
    return {"id": work.id, "kind": work.kind, "title": work.title}


def _words_of(fact: TaskFact) -> str:
    return " ".join([fact.task.goal, fact.task.brief, *(work.title for work in fact.works)])
