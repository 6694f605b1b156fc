"""The steps of writing a skill: read it, write it, repair what the checks found, finish."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

from standins.model.conversation import ModelCall
from standins.model.reply import ReplyCall, StandinReply
from standins.model.rules import skill_calls, skill_source
from standins.model.rules.skill_words import skill_phrase

MOST_TRIES = 3
_LESS = re.compile(r"\b(less sensitive|too sensitive|too many (false )?al(arm|ert)s|moins sensible)\b", re.IGNORECASE)
_MORE = re.compile(r"\b(more sensitive|too late|missed|plus sensible)\b", re.IGNORECASE)


@dataclass(frozen=True)
class SkillFileDraft:
    """A skill file to write; `base` is the version that it changes, None for a new skill."""

    name: str
    source: str
    reason: str
    base: int | None = None

    def call(self, source: str) -> ReplyCall:
        arguments: dict[str, Any] = {"name": self.name, "source": source, "reason": self.reason}
        return ReplyCall("write_skill", arguments if self.base is None else {**arguments, "base_version": self.base})


def write_draft(draft: SkillFileDraft, made: Sequence[ModelCall], language: str) -> StandinReply:
    """Write the draft, or write it again without the problems that the checks found."""
    before = skill_calls.writes_of(made, draft.name)
    if not before:
        return StandinReply(calls=[draft.call(draft.source)])
    last = before[-1]
    if (asked := skill_calls.proposal_of(last)) is not None:
        return _upon_card(draft, asked, language)
    problems = skill_calls.problems_of(last)
    source = skill_source.repair_source(str(last.arguments.get("source") or draft.source), problems)
    if len(before) >= MOST_TRIES or source == last.arguments.get("source"):
        told = "; ".join(f"line {one.get('line')}: {one.get('reason')}" for one in problems[:3])
        return StandinReply(
            skill_phrase(language, "not_written", skill=draft.name, why=told or skill_calls.error_of(last))
        )
    return StandinReply(calls=[draft.call(source)])


def _upon_card(draft: SkillFileDraft, asked: Mapping[str, Any], language: str) -> StandinReply:
    """Continue after a card about a person's own file: save the change if they accepted it, else leave the file."""
    match asked.get("status"):
        case "granted":
            arguments = {"name": draft.name, "reason": draft.reason, "card_id": asked["card_id"]}
            return StandinReply(calls=[ReplyCall("write_skill", arguments)])
        case "denied":
            return StandinReply(skill_phrase(language, "left", skill=draft.name))
        case _:
            return StandinReply(skill_phrase(language, "proposed", skill=draft.name))


def read_first(calls: Sequence[ReplyCall], made: Sequence[ModelCall], language: str) -> StandinReply:
    """Make the reading calls that were not tried too often; if none is left, say that the skills cannot be read."""
    left = [call for call in calls if skill_calls.count_tries(made, "read_skill", **call.arguments) < MOST_TRIES]
    return StandinReply(calls=left) if left else StandinReply(skill_phrase(language, "no_pattern"))


def end_skill_work(said: str, made: Sequence[ModelCall], tools: Set[str]) -> StandinReply:
    """Finish the task with these words; only say them if that was tried already."""
    if "finish" in tools and not skill_calls.count_tries(made, "finish"):
        return StandinReply(calls=[ReplyCall("finish", {"summary": said})])
    return StandinReply(said)


def sensitivity_wanted(text: str) -> float | None:
    """Return the factor by which the sensitivity should change; None if the text does not mention it."""
    return 0.8 if _LESS.search(text) else 1.25 if _MORE.search(text) else None


def tune_sensitivity(source: str, factor: float) -> str:
    """Return the source with its constant SENSITIVITY multiplied by `factor`."""
    was = skill_source.number_of(source, "SENSITIVITY")
    to = round((was or 1.0) * factor, 4)
    return skill_source.set_numbers(source, [{"constant": "SENSITIVITY", "to": to}])
