"""Routing facts: recent tasks, older tasks with similar words, and the last messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import sqlalchemy as sa

from core.clock import describe_now, to_local_minute
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
    """A task with its works."""

    task: Task
    works: tuple[RouteWork, ...]


@dataclass(frozen=True)
class RoutingFacts:
    """What is known when a message is routed.

    `older` tasks may be archived or stopped, so that the person can learn that theirs is.
    """

    message: Message
    recent: tuple[TaskFact, ...]
    older: tuple[TaskFact, ...]
    thread: tuple[Message, ...]
    attached: tuple[RouteWork, ...]
    now: datetime
    zone: ZoneInfo

    @property
    def offered(self) -> Mapping[str, TaskFact]:
        """Return every task that a verdict may name, by id."""
        return {fact.task.id: fact for fact in (*self.recent, *self.older)}

    @property
    def works(self) -> frozenset[str]:
        """Return the id of every object that a verdict may name."""
        shown = [work.id for fact in (*self.recent, *self.older) for work in fact.works]
        return frozenset([*shown, *(work.id for work in self.attached)])


def gather_facts(scope: Scope, message: Message, works: RouteWorks) -> RoutingFacts:
    """Gather the facts for one message."""
    recent = tasks.list_tasks(scope, LIVING_STATUSES, limit=MOST_RECENT_TASKS)
    older = _find_older_tasks(scope, message.text, {task.id for task in recent})
    known = works.of_tasks(scope, [task.id for task in (*recent, *older)])
    thread = [
        one
        for one in messages.list_main_messages(scope, message.person_id, limit=MOST_THREAD_MESSAGES + 1)
        if one.id != message.id and one.created_at <= message.created_at
    ]
    about = [*message.attachments, *([message.to_object_id] if message.to_object_id else [])]
    return RoutingFacts(
        message=message,
        recent=tuple(_build_fact(task, known) for task in recent),
        older=tuple(_build_fact(task, known) for task in older),
        thread=tuple(thread[-MOST_THREAD_MESSAGES:]),
        attached=tuple(works.by_ids(scope, about)) if about else (),
        now=scope.now,
        zone=scope.read_time_zone(),
    )


def gather_facts_of_tasks(scope: Scope, message: Message, works: RouteWorks, task_ids: Sequence[str]) -> RoutingFacts:
    """Gather the facts for a message that can belong only to one of these tasks or to a new one."""
    known = works.of_tasks(scope, task_ids)
    offered = tuple(_build_fact(tasks.get_task(scope, task_id), known) for task_id in task_ids)
    return replace(gather_facts(scope, message, works), recent=offered, older=())


def routing_facts_json(facts: RoutingFacts, language: str) -> dict[str, Any]:
    """Return the facts as JSON for the model."""
    message, zone = facts.message, facts.zone
    return {
        "now": describe_now(facts.now, zone),
        "message": {
            "id": message.id,
            "at": to_local_minute(message.created_at, zone),
            "text": message.text[:4000],
            "language": language,
            "attachments": [_work_json(work, zone) for work in facts.attached],
        },
        "thread": [
            {
                "author": one.author,
                "at": to_local_minute(one.created_at, zone),
                "text": one.text[:300],
                "task_id": one.task_id or one.to_task_id,
            }
            for one in facts.thread
        ],
        "tasks": [_task_json(fact, zone) for fact in facts.recent],
        "older": [_task_json(fact, zone) for fact in facts.older],
    }


def likely_tasks(facts: RoutingFacts, most: int = 5) -> list[str]:
    """Return the ids of the living tasks with the words most like the message's, to ask the person about."""
    living = [fact for fact in facts.offered.values() if fact.task.status in LIVING_STATUSES]
    ranked = sorted(living, key=lambda fact: -word_overlap(facts.message.text, _join_words(fact)))
    return [fact.task.id for fact in ranked[:most]]


def _find_older_tasks(scope: Scope, text: str, excluded: set[str]) -> list[Task]:
    keywords = sorted(find_keywords(text), key=len, reverse=True)[:_SEARCH_WORDS]
    if not keywords:
        return []
    searched = (task_rows.c.goal, task_rows.c.brief)
    fits = [column.icontains(word, autoescape=True) for word in keywords for column in searched]
    query = scope.select(task_rows.c.id, *searched).where(sa.or_(*fits), task_rows.c.id.not_in(excluded))
    rows = scope.rows(query.order_by(task_rows.c.updated_at.desc()).limit(_SEARCH_ROWS))
    ranked = sorted(rows, key=lambda row: -word_overlap(text, f"{row.goal} {row.brief}"))
    return [tasks.get_task(scope, row.id) for row in ranked[:MOST_OLDER_TASKS]]


def _build_fact(task: Task, known: Mapping[str, Sequence[RouteWork]]) -> TaskFact:
    return TaskFact(task, tuple(known.get(task.id, ()))[:MOST_WORKS])


def _task_json(fact: TaskFact, zone: ZoneInfo) -> dict[str, Any]:
    task = fact.task
    return {
        "id": task.id,
        "kind": task.kind,
        "goal": task.goal[:400],
        "brief": "\n".join(task.brief.splitlines()[:4])[:400],
        "status": task.status,
        "updated_at": to_local_minute(task.updated_at, zone),
        "objects": [_work_json(work, zone) for work in fact.works],
    }


def _work_json(work: RouteWork, zone: ZoneInfo) -> dict[str, str]:
    changed_at = to_local_minute(work.changed_at, zone)
    return {"id": work.id, "kind": work.kind, "title": work.title, "changed_at": changed_at}


def _join_words(fact: TaskFact) -> str:
    return " ".join([fact.task.goal, fact.task.brief, *(work.title for work in fact.works)])
