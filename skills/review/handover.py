"""Give the agent a task about a skill, with untrusted data framed as data."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from core.database import Scope
from core.errors import NotFoundError
from core.tables import roles
from runtime.inbox import inbox, messages
from runtime.inbox.messages import set_message_state
from runtime.statuses import InputKind, MessageState
from runtime.tables import calls, turns
from runtime.tables import tasks as task_rows
from runtime.tasks import tasks
from runtime.tasks.tasks import Task
from skills.book.versions import CheckedVersion

DEFAULT_LANGUAGE = "en"
_LONGEST_DATA = 12_000


def hand_over(
    scope: Scope, *, goal: str, order: str, data: Mapping[str, Any], version: CheckedVersion, cause: str
) -> Task:
    """Create the task once per `cause`, with the order in its inbox, for the person who had the skill written.

    No person asked for it, so each paid act of the task waits for a card.
    """
    known = scope.first(scope.select(task_rows.c.id).where(task_rows.c.cause == cause))
    before = find_author_task(scope, version)
    task = tasks.create_task(
        scope,
        kind="persistent",
        goal=goal,
        language=before.language if before is not None else DEFAULT_LANGUAGE,
        person_id=before.person_id if before is not None else _owner(scope),
        asked_by="program",
        cause=cause,
    )
    if known is None:
        message = messages.receive_message(
            scope,
            person_id=task.person_id,
            asked_by="agent",
            channel_id=None,
            text=f"{order}\n\n{frame_data(data)}",
            client_id=f"task:{cause}",
            to_task_id=task.id,
            language=task.language,
        )
        set_message_state(
            scope,
            message.id,
            MessageState.DELIVERED,
            was=(MessageState.RECEIVED,),
            task_id=task.id,
            routed_at=scope.now,
        )
        inbox.deliver_input(scope, task.id, InputKind.MESSAGE, message.id)
    return task


def frame_data(data: Mapping[str, Any]) -> str:
    """Return JSON between `<data>` and `</data>`, escaped so that no text in it ends the frame."""
    text = json.dumps(data, ensure_ascii=False, sort_keys=True, default=str)
    if len(text) > _LONGEST_DATA:
        text = json.dumps({"cut": True, "beginning": text[:_LONGEST_DATA]}, ensure_ascii=False)
    return "<data>\n" + text.replace("<", "\\u003c") + "\n</data>"


def find_author_task(scope: Scope, version: CheckedVersion) -> Task | None:
    """Return the task whose call wrote or brought back a version; None if a person did, or it is unknown."""
    author, reference = version.offered_by
    if author != "agent" or not reference:
        return None
    row = scope.first(
        scope.select(turns.c.task_id, calls.c.id).where(turns.c.id == calls.c.turn_id, calls.c.id == reference)
    )
    task_id = str(row.task_id) if row is not None else reference
    try:
        return tasks.get_task(scope, task_id)
    except NotFoundError:
        return None


def _owner(scope: Scope) -> str:
    query = scope.select(roles.c.person_id).where(roles.c.role == "owner").order_by(roles.c.person_id)
    found = scope.scalar(query.limit(1))
    if found is None:
        raise NotFoundError("the workspace has no owner to give the task to")
    return str(found)
