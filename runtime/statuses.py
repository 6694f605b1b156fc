"""Statuses, states and kinds of the runtime's rows. Members are stored values; the tables are checked by them."""

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
"""Nothing wakes such a task, and nothing is ordered for it: it has ended, or a person lets it rest."""


class TurnStatus(StrEnum):
    """`waiting` for orders and `gated` by a person are ends of a turn as well: the next turn goes on from there."""

    QUEUED = "queued"
    RUNNING = "running"
    COMPLETED = "completed"
    WAITING = "waiting"
    GATED = "gated"
    STOPPED = "stopped"
    FAILED = "failed"


OPEN_TURN_STATUSES = (TurnStatus.QUEUED, TurnStatus.RUNNING)


class MessageState(StrEnum):
    """How far a person's message has come; the agent's own are `sent`."""

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
"""Words that their person has taken back, with or without others in their place."""


class InputState(StrEnum):
    """How far an input of a task has come: claimed by a step, then consumed with the step's decision."""

    DELIVERED = "delivered"
    CLAIMED = "claimed"
    CONSUMED = "consumed"
    WITHDRAWN = "withdrawn"
    REPLACED = "replaced"
    MOVED = "moved"
    SUPERSEDED = "superseded"


UNREAD_INPUT_STATES = (InputState.DELIVERED, InputState.CLAIMED)
READ_INPUT_STATES = (InputState.CLAIMED, InputState.CONSUMED)
"""A step has read it, or is reading it."""


class InputKind(StrEnum):
    """What an input is: a message, the outcome of an order, the answer to a card, a changed object, a saved skill."""

    MESSAGE = "message"
    OUTCOME = "outcome"
    ANSWER = "answer"
    OBJECT = "object"
    SKILL = "skill"


class CallStatus(StrEnum):
    PROPOSED = "proposed"
    STARTED = "started"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    OUTCOME_UNKNOWN = "outcome_unknown"


UNFINISHED_CALL_STATUSES = (CallStatus.PROPOSED, CallStatus.STARTED)
FINISHED_CALL_STATUSES = (CallStatus.DONE, CallStatus.FAILED, CallStatus.CANCELLED, CallStatus.OUTCOME_UNKNOWN)


class WaitKind(StrEnum):
    """What a task waits for. Nothing waits for a message or a schedule yet."""

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
    """The SQL of a check that a column holds one of these values, in their order."""
    return f"{column} in ({', '.join(repr(str(value)) for value in values)})"
