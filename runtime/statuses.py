"""Statuses, states and kinds of the runtime's rows.

The members are stored values; check constraints on the tables allow no others.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum


class TaskStatus(StrEnum):
    ACTIVE = "active"
    WAITING = "waiting"
    PAUSED = "paused"
    BLOCKED = "blocked"
    DONE = "done"
    STOPPED = "stopped"
    ARCHIVED = "archived"


OPEN_TASK_STATUSES = (TaskStatus.ACTIVE, TaskStatus.WAITING, TaskStatus.PAUSED, TaskStatus.BLOCKED)
ENDED_TASK_STATUSES = (TaskStatus.STOPPED, TaskStatus.ARCHIVED)
RESTING_TASK_STATUSES = (*ENDED_TASK_STATUSES, TaskStatus.PAUSED)
"""Tasks that nothing wakes and that order nothing: they have ended, or a person has paused them."""


class TurnStatus(StrEnum):
    """Status of a turn. `waiting` (for orders) and `gated` (for a person) end a turn too; the next turn goes on."""

    QUEUED = "queued"
    RUNNING = "running"
    COMPLETED = "completed"
    WAITING = "waiting"
    GATED = "gated"
    STOPPED = "stopped"
    FAILED = "failed"


OPEN_TURN_STATUSES = (TurnStatus.QUEUED, TurnStatus.RUNNING)


class MessageState(StrEnum):
    """Progress of a person's message; messages of the agent are `sent`."""

    # Replaced: withdrawn, with a new text. Superseded: its task ended before a step read it.
    RECEIVED = "received"
    ROUTED = "routed"
    DELIVERED = "delivered"
    CONSUMED = "consumed"
    ANSWERED = "answered"
    WITHDRAWN = "withdrawn"
    REPLACED = "replaced"
    SUPERSEDED = "superseded"
    SENT = "sent"


WITHDRAWN_MESSAGE_STATES = (MessageState.WITHDRAWN, MessageState.REPLACED)
"""States of a message that its author has withdrawn, with or without a replacement."""


class InputState(StrEnum):
    """Progress of a task's input: claimed by a step, then consumed when the step's decision is stored."""

    # Replaced: withdrawn, with a new text. Moved: delivered to another task instead. Superseded: the task ended first.
    DELIVERED = "delivered"
    CLAIMED = "claimed"
    CONSUMED = "consumed"
    WITHDRAWN = "withdrawn"
    REPLACED = "replaced"
    MOVED = "moved"
    SUPERSEDED = "superseded"


UNREAD_INPUT_STATES = (InputState.DELIVERED, InputState.CLAIMED)
"""States of an input that no stored decision has read; a step may be reading it."""
READ_INPUT_STATES = (InputState.CLAIMED, InputState.CONSUMED)
"""States of an input that a step has read, or is reading."""


class InputKind(StrEnum):
    """Kind of an input: a message, the outcome of an order, the answer to a card, a changed object, a saved skill."""

    MESSAGE = "message"
    OUTCOME = "outcome"
    ANSWER = "answer"
    OBJECT = "object"
    SKILL = "skill"


class CallStatus(StrEnum):
    # Cancelled: its turn ended before it started. Outcome unknown: it started, and whether it has acted is not known.
    PROPOSED = "proposed"
    STARTED = "started"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    OUTCOME_UNKNOWN = "outcome_unknown"


UNFINISHED_CALL_STATUSES = (CallStatus.PROPOSED, CallStatus.STARTED)
FINISHED_CALL_STATUSES = (CallStatus.DONE, CallStatus.FAILED, CallStatus.CANCELLED, CallStatus.OUTCOME_UNKNOWN)


class WaitKind(StrEnum):
    """What a task waits for. `message` and `schedule` are reserved: no task waits for them yet."""

    GENERATION = "generation"
    CARD = "card"
    MESSAGE = "message"
    SCHEDULE = "schedule"


class CardKind(StrEnum):
    CLARIFY = "clarify"
    CHECKPOINT = "checkpoint"
    CHOICE = "choice"
    QUOTE = "quote"
    LIMIT = "limit"
    PERMISSION = "permission"
    IRREVERSIBLE = "irreversible"
    RESULT = "result"
    BLOCKED = "blocked"


class CardState(StrEnum):
    # Superseded: its question no longer holds. Void: its task ended, or its message was withdrawn.
    OPEN = "open"
    ANSWERED = "answered"
    EXPIRED = "expired"
    SUPERSEDED = "superseded"
    VOID = "void"


class ChecklistStatus(StrEnum):
    TODO = "todo"
    DOING = "doing"
    WAITING = "waiting"
    DONE = "done"
    BLOCKED = "blocked"
    SKIPPED = "skipped"


FINISHED_STEP_STATUSES = (ChecklistStatus.DONE, ChecklistStatus.SKIPPED)


def one_of_values(column: str, values: Iterable[str]) -> str:
    """Return the SQL of a check that a column holds one of these values, in the given order."""
    return f"{column} in ({', '.join(repr(str(value)) for value in values)})"
