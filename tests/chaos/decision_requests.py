"""Match each request in the model's log with the decision it asked for, and whether that one was stored already."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tests.chaos.api_view import ApiView, Json

Decision = tuple[str, ...]
"""What was to be decided: a task's or a message's next step after so many, or a verdict on a message."""


@dataclass(frozen=True)
class Repeats:
    """Requests beyond the first one for a decision: those made before it was stored, and those made after."""

    calls: int
    before: int
    after: list[str]


def repeats(seen: ApiView) -> Repeats:
    asked: dict[Decision, list[datetime]] = defaultdict(list)
    for row in filter(_is_decision, seen.log):
        asked[decision_of(row["request"])].append(datetime.fromisoformat(row["at"]))
    stored = _stored(seen)
    before, after = 0, []
    for decision, times in asked.items():
        at = stored.get(decision, [])
        late = [time for time in times if at and time > at[-1]]
        after += [f"{decision} asked at {time}, stored at {at[-1]}" for time in late]
        before += max(0, len(times) - len(late) - max(1, len(at)))
    return Repeats(len(seen.log), before, after)


def _is_decision(row: Json) -> bool:
    """Whether a request asks for a step or a route; vectors and what memory asks for decide nothing that is done."""
    request = row["request"]
    shape = request.get("response_format", {}).get("json_schema", {}).get("name")
    if "messages" not in request or shape not in (None, "route", "duplicate_check"):
        return False
    return shape is not None or "<state>" in str(request["messages"][-1]["content"])


def decision_of(request: Mapping[str, Any]) -> Decision:
    """Read off the request alone: a verdict names its message; a turn shows its state and the steps already taken."""
    messages = request["messages"]
    shape = request.get("response_format", {}).get("json_schema", {}).get("name")
    last = str(messages[-1]["content"])
    if shape is not None:
        facts = json.loads(last.partition("<facts>")[2].partition("</facts>")[0])
        return ("verdict", shape, str(facts.get("message", {}).get("id")), str(len(messages)))
    state = json.loads(last.partition("<state>")[2].partition("</state>")[0])
    if state["task"] is not None:
        return ("task", state["task"]["id"], str(sum(_is_step(message) for message in messages[1:-1])))
    message_id, place = _newest_message(messages)
    return ("message", message_id, str(sum(_is_step(message) for message in messages[place + 1 : -1])))


def _is_step(message: Mapping[str, Any]) -> bool:
    return bool(message["role"] == "assistant")


def _newest_message(messages: list[Json]) -> tuple[str, int]:
    for place in range(len(messages) - 1, -1, -1):
        content = messages[place].get("content") or ""
        if messages[place]["role"] == "user" and "<input>" in content:
            items = json.loads(content.rpartition("<input>")[2].partition("</input>")[0])
            return str(items[-1]["id"]), place
    raise AssertionError("a request of the main thread without a message")


def _stored(seen: ApiView) -> Mapping[Decision, list[datetime]]:
    """When each decision was stored; a step without words and calls leaves no trace in what later steps are shown."""
    found: dict[Decision, list[datetime]] = defaultdict(list)
    shown: dict[tuple[str, str], int] = defaultdict(int)
    for turn in sorted(seen.turns, key=lambda turn: (turn["created_at"], turn["id"])):
        whose = ("task", turn["task_id"]) if turn["task_id"] else ("message", turn["message_id"])
        for step in turn["steps"]:
            found[*whose, str(shown[whose])].append(datetime.fromisoformat(step["created_at"]))
            shown[whose] += bool(step["text"] or step["calls"])
    for message in seen.messages:
        if (message["route"] or {}).get("at"):
            for name in ("route", "duplicate_check"):
                found["verdict", name, message["id"], "2"].append(datetime.fromisoformat(message["route"]["at"]))
    return found
