"""Replay of a recorded conversation in order. A surplus call fails and is counted."""

from __future__ import annotations

import json
import sqlite3
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from standins.model.faults import ModelFaultMatch
from standins.model.problems import ModelProblem
from standins.model.reply import ReplyCall, StandinReply


class RecordedCall(BaseModel):
    """A recorded call. `arguments` is an object, or a text that is sent unchanged."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    arguments: dict[str, Any] | str = Field(default_factory=dict)


class RecordedAnswer(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    text: str = ""
    calls: list[RecordedCall] = Field(default_factory=list)
    refusal: str | None = None
    cut: bool = False


class AnswerRecording(BaseModel):
    """The body of POST /replay. A verdict is an answer whose text is its JSON.

    With `match.thread` (as in POST /faults) only that thread is replayed; the rules answer the others.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    answers: list[RecordedAnswer]
    match: ModelFaultMatch = ModelFaultMatch()


def begin_replay(db: sqlite3.Connection, recording: AnswerRecording) -> None:
    """Begin a replay; it replaces an older one."""
    stop_replay(db)
    begun = "INSERT INTO replay (one, given, unexpected, thread) VALUES (1, 0, 0, ?)"
    db.execute(begun, (recording.match.thread,))
    for answer in recording.answers:
        db.execute("INSERT INTO recorded (answer) VALUES (?)", (answer.model_dump_json(),))


def stop_replay(db: sqlite3.Connection) -> None:
    db.execute("DELETE FROM recorded")
    db.execute("DELETE FROM replay")


def replay_status(db: sqlite3.Connection) -> dict[str, object]:
    """Return the state: `leftovers` are the answers not given yet, `unexpected` counts requests without an answer."""
    row = db.execute("SELECT given, unexpected FROM replay").fetchone()
    left = [json.loads(one["answer"]) for one in db.execute("SELECT answer FROM recorded ORDER BY number")]
    given, unexpected = (row["given"], row["unexpected"]) if row else (0, 0)
    return {"active": row is not None, "given": given, "leftovers": left, "unexpected": unexpected}


def next_recorded_reply(db: sqlite3.Connection, thread: str) -> StandinReply | ModelProblem | None:
    """Return the next recorded answer, a ModelProblem if none is left, or None if this thread is not replayed."""
    replayed = "SELECT one FROM replay WHERE thread IS NULL OR thread = ?"
    if db.execute(replayed, (thread,)).fetchone() is None:
        return None
    row = db.execute("SELECT number, answer FROM recorded ORDER BY number LIMIT 1").fetchone()
    if row is None:
        db.execute("UPDATE replay SET unexpected = unexpected + 1")
        return ModelProblem(
            500, "unexpected_call", "the recording has no further answer; GET /replay tells what was given"
        )
    db.execute("DELETE FROM recorded WHERE number = ?", (row["number"],))
    db.execute("UPDATE replay SET given = given + 1")
    answer = RecordedAnswer.model_validate_json(row["answer"])
    calls = [
        ReplyCall(call.name, raw=call.arguments)
        if isinstance(call.arguments, str)
        else ReplyCall(call.name, call.arguments)
        for call in answer.calls
    ]
    return StandinReply(answer.text, calls, answer.refusal, answer.cut)
