"""A workspace with a router in it: real rows, a scripted or stand-in model, the workspace's own works."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from core.llm.port import ChatMessage as ModelMessage
from core.llm.port import Model
from core.llm.scripted_model import ScriptedModel
from functions.routable_works import RoutableWorks
from router import dispatch, judgement
from router.dependencies import RouterDependencies
from runtime.inbox import messages
from runtime.inbox.messages import Message
from runtime.tables import inbox, routes, turns
from runtime.tasks import tasks
from runtime.tasks.tasks import Task
from tests.support.databases import Store
from tests.support.message_replies import replies_to
from workspace import objects
from workspace.objects import Object


@dataclass
class RouterWorld:
    store: Store
    model: Model

    @property
    def dependencies(self) -> RouterDependencies:
        return RouterDependencies(self.store.database, self.model, RoutableWorks())

    @property
    def workspace_id(self) -> str:
        return self.store.workspace_id

    def foresee(self, *verdicts: dict[str, Any]) -> None:
        """Let the scripted model give these verdicts next."""
        assert isinstance(self.model, ScriptedModel)
        self.model._verdicts += verdicts

    def tick(self) -> None:
        self.store.clock.advance(timedelta(seconds=1))

    def say(self, text: str, **target: Any) -> Message:
        self.tick()
        with self.store.database.transaction(self.workspace_id) as scope:
            person = target.pop("person_id", self.store.person_id)
            return messages.receive_message(
                scope, person_id=person, asked_by="person", channel_id=None, text=text, **target
            )

    def task(self, goal: str, kind: str = "persistent", status: str = "active", language: str = "en") -> Task:
        self.tick()
        with self.store.database.transaction(self.workspace_id) as scope:
            task = tasks.create_task(
                scope,
                kind=kind,
                goal=goal,
                language=language,
                person_id=self.store.person_id,
                asked_by="person",
                cause=scope.ids.new("cause"),
            )
            return tasks.set_task_fields(scope, task.id, status=status)

    def work(self, title: str, task: Task | None = None) -> Object:
        with self.store.database.transaction(self.workspace_id) as scope:
            return objects.create_object(
                scope,
                kind="image",
                title=title,
                media_type="image/png",
                size=10,
                sha256="0" * 64,
                created_by=f"person:{self.store.person_id}" if task is None else f"task:{task.id}",
                cause=scope.ids.new("cause"),
                task_id=None if task is None else task.id,
            )

    def route(self, message: Message) -> Message:
        """What the function's steps do after one bell."""
        picked = judgement.pick_message(self.dependencies, self.workspace_id, message.id)
        if picked is None:
            return self.message(message.id)
        if not picked["decided"]:
            judgement.judge_message(self.dependencies, self.workspace_id, picked["message_id"])
        dispatch.dispatch_message(self.dependencies, self.workspace_id, picked["message_id"])
        return self.message(picked["message_id"])

    def message(self, message_id: str) -> Message:
        with self.store.database.reading(self.workspace_id) as scope:
            return messages.get_message(scope, message_id)

    def get_task(self, task_id: str | None) -> Task:
        with self.store.database.reading(self.workspace_id) as scope:
            return tasks.get_task(scope, str(task_id))

    def all_tasks(self) -> list[Task]:
        with self.store.database.reading(self.workspace_id) as scope:
            return tasks.list_tasks(scope)

    def stored_route(self, message: Message) -> Mapping[str, Any]:
        with self.store.database.reading(self.workspace_id) as scope:
            row = scope.first(scope.select(routes).where(routes.c.message_id == message.id))
        assert row is not None
        return dict(row._mapping)

    def inbox_of(self, task_id: str | None) -> list[tuple[str, str]]:
        """What a task was handed, as (message, state)."""
        with self.store.database.reading(self.workspace_id) as scope:
            rows = scope.rows(scope.select(inbox).where(inbox.c.task_id == task_id).order_by(inbox.c.created_at))
        return [(row.ref_id, row.state) for row in rows]

    def open_turns(self) -> list[tuple[str | None, str | None]]:
        """Queued turns as (task, message)."""
        with self.store.database.reading(self.workspace_id) as scope:
            rows = scope.rows(scope.select(turns).where(turns.c.status == "queued").order_by(turns.c.created_at))
        return [(row.task_id, row.message_id) for row in rows]

    def replies(self, message: Message) -> list[str]:
        with self.store.database.reading(self.workspace_id) as scope:
            return [one.text for one in replies_to(scope, message.id)]


def verdict(outcome: str, **more: Any) -> dict[str, Any]:
    return {"outcome": outcome, "reasons": ["because"], **more}


def scripted(store: Store, *verdicts: dict[str, Any]) -> tuple[RouterWorld, ScriptedModel]:
    model = ScriptedModel(verdicts=verdicts)
    return RouterWorld(store, model), model


def facts_in(asked: Sequence[ModelMessage]) -> dict[str, Any]:
    """The facts that a question to the model carries."""
    content = str(asked[-1]["content"])
    facts: dict[str, Any] = json.loads(content.partition("<facts>")[2].rpartition("</facts>")[0])
    return facts
