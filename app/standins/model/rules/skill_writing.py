"""Reading a skill, writing it, repairing what the checks found, and the end of the work."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

from app.standins.model.conversation import Made
from app.standins.model.reply import Call, Reply
from app.standins.model.rules import skill_calls, skill_source
from app.standins.model.rules.skill_words import say

MOST_TRIES = 3
_LESS = re.compile(r"\b(less sensitive|too sensitive|too many (false )?al(arm|ert)s|moins sensible)\b", re.IGNORECASE)
_MORE = re.compile(r"\b(more sensitive|too late|missed|plus sensible)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Draft:
    """A file to write: `name` as asked for, and the text."""

    name: str
    source: str
    reason: str
    base: int | None = None

    def call(self, source: str) -> Call:
        arguments: dict[str, Any] = {"name": self.name, "source": source, "reason": self.reason}
        return Call("write_skill", arguments if self.base is None else {**arguments, "base_version": self.base})


def write(draft: Draft, made: Sequence[Made], language: str) -> Reply:
    """Write it, or write it again with what the checks found repaired."""
    before = skill_calls.writes(made, draft.name)
    if not before:
        return Reply(calls=[draft.call(draft.source)])
    last = before[-1]
    if (asked := skill_calls.proposed(last)) is not None:
        return _upon_card(draft, asked, language)
    problems = skill_calls.problems_of(last)
    source = skill_source.repaired(str(last.arguments.get("source") or draft.source), problems)
    if len(before) >= MOST_TRIES or source == last.arguments.get("source"):
        told = "; ".join(f"line {one.get('line')}: {one.get('reason')}" for one in problems[:3])
        return Reply(say(language, "not_written", skill=draft.name, why=told or skill_calls.error_of(last)))
    return Reply(calls=[draft.call(source)])


def _upon_card(draft: Draft, asked: Mapping[str, Any], language: str) -> Reply:
    """A person's own file: it is saved once they accept the change, and left alone if they do not."""
    match asked.get("status"):
        case "granted":
            arguments = {"name": draft.name, "reason": draft.reason, "card_id": asked["card_id"]}
            return Reply(calls=[Call("write_skill", arguments)])
        case "denied":
            return Reply(say(language, "left", skill=draft.name))
        case _:
            return Reply(say(language, "proposed", skill=draft.name))


def reading(calls: Sequence[Call], made: Sequence[Made], language: str) -> Reply:
    left = [call for call in calls if skill_calls.tries(made, "read_skill", **call.arguments) < MOST_TRIES]
    return Reply(calls=left) if left else Reply(say(language, "no_pattern"))


def end(said: str, made: Sequence[Made], tools: Set[str]) -> Reply:
    if "finish" in tools and not skill_calls.tries(made, "finish"):
        return Reply(calls=[Call("finish", {"summary": said})])
    return Reply(said)


def sensitivity_wanted(text: str) -> float | None:
    """By which factor the alarms should change; None when nothing is said of them."""
    return 0.8 if _LESS.search(text) else 1.25 if _MORE.search(text) else None


def tuned(source: str, factor: float) -> str:
    was = skill_source.number_of(source, "SENSITIVITY")
    to = round((was or 1.0) * factor, 4)
    return skill_source.with_numbers(source, [{"constant": "SENSITIVITY", "to": to}])
