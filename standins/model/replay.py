"""Replay of recorded conversations, each in its order. A surplus call fails and is counted."""

from __future__ import annotations

import json
import re
import sqlite3
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

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


class RecordingMatch(BaseModel):
    """Requests that a recording answers: those of a thread, those about a task, or both; all without either.

    `thread` is `task`, `main` or the name of a verdict. `goal` holds words that all stand in the task's goal or, before
    there is a task, in the message that a verdict is about.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    thread: str | None = None
    goal: str | None = None

    def fits(self, thread: str, goal: str) -> bool:
        """Tell whether a request in this thread, about this goal, is meant."""
        return self.thread in (None, thread) and set(_words(self.goal or "")) <= set(_words(goal))


class AnswerRecording(BaseModel):
    """The body of POST /replay. A verdict is an answer whose text is its JSON.

    Where nothing is recorded for a request, the rules answer it.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    answers: list[RecordedAnswer]
    match: RecordingMatch = RecordingMatch()


def begin_replay(db: sqlite3.Connection, recording: AnswerRecording) -> None:
    """Begin a replay. One with a goal replaces that of the same match; one without a goal replaces all others."""
    match = recording.match
    if match.goal is None:
        stop_replay(db)
    for row in db.execute("SELECT number, match FROM recordings").fetchall():
        if RecordingMatch.model_validate_json(row["match"]) == match:
            db.execute("DELETE FROM recorded_answers WHERE recording = ?", (row["number"],))
            db.execute("DELETE FROM recordings WHERE number = ?", (row["number"],))
    begun = "INSERT INTO recordings (match, given, unexpected) VALUES (?, 0, 0)"
    number = db.execute(begun, (match.model_dump_json(),)).lastrowid
    for answer in recording.answers:
        added = "INSERT INTO recorded_answers (recording, answer) VALUES (?, ?)"
        db.execute(added, (number, answer.model_dump_json()))


def stop_replay(db: sqlite3.Connection) -> None:
    db.execute("DELETE FROM recorded_answers")
    db.execute("DELETE FROM recordings")


def replay_status(db: sqlite3.Connection) -> dict[str, object]:
    """Return the state: `leftovers` are the answers not given yet, `unexpected` counts requests without an answer.

    They are those of all recordings; `recordings` has them one by one.
    """
    recordings = [_recording_status(db, row) for row in db.execute("SELECT * FROM recordings ORDER BY number")]
    return {
        "active": bool(recordings),
        "given": sum(one["given"] for one in recordings),
        "leftovers": [answer for one in recordings for answer in one["leftovers"]],
        "unexpected": sum(one["unexpected"] for one in recordings),
        "recordings": recordings,
    }


def next_recorded_reply(db: sqlite3.Connection, thread: str, goal: str) -> StandinReply | ModelProblem | None:
    """Return the next recorded answer, a ModelProblem if none is left, or None if nothing is recorded for this request.

    A recording of a goal answers before one without; of two goals, the one with more words.
    """
    recording = _find_recording(db, thread, goal)
    if recording is None:
        return None
    query = "SELECT number, answer FROM recorded_answers WHERE recording = ? ORDER BY number LIMIT 1"
    row = db.execute(query, (recording,)).fetchone()
    if row is None:
        db.execute("UPDATE recordings SET unexpected = unexpected + 1 WHERE number = ?", (recording,))
        return ModelProblem(
            500, "unexpected_call", "the recording has no further answer; GET /replay tells what was given"
        )
    db.execute("DELETE FROM recorded_answers WHERE number = ?", (row["number"],))
    db.execute("UPDATE recordings SET given = given + 1 WHERE number = ?", (recording,))
    answer = RecordedAnswer.model_validate_json(row["answer"])
    calls = [
        ReplyCall(call.name, raw=call.arguments)
        if isinstance(call.arguments, str)
        else ReplyCall(call.name, call.arguments)
        for call in answer.calls
    ]
    return StandinReply(answer.text, calls, answer.refusal, answer.cut)


def _find_recording(db: sqlite3.Connection, thread: str, goal: str) -> int | None:
    fitting: list[tuple[int, int]] = []
    for row in db.execute("SELECT number, match FROM recordings"):
        match = RecordingMatch.model_validate_json(row["match"])
        if match.fits(thread, goal):
            fitting.append((len(_words(match.goal or "")), row["number"]))
    return max(fitting)[1] if fitting else None


def _recording_status(db: sqlite3.Connection, row: sqlite3.Row) -> dict[str, Any]:
    query = "SELECT answer FROM recorded_answers WHERE recording = ? ORDER BY number"
    return {
        "match": json.loads(row["match"]),
        "given": row["given"],
        "leftovers": [json.loads(one["answer"]) for one in db.execute(query, (row["number"],))],
        "unexpected": row["unexpected"],
    }


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())
