"""Rules for a message that names a skill and wants it repaired or changed."""

from __future__ import annotations

import re
from collections.abc import Set

from standins.model.reply import ReplyCall, StandinReply
from standins.model.rules import skill_calls, skill_source
from standins.model.rules.skill_words import report_skills, skill_phrase
from standins.model.rules.skill_writing import (
    SkillFileDraft,
    end_skill_work,
    read_first,
    sensitivity_wanted,
    tune_sensitivity,
    write_draft,
)
from standins.model.rules.story import StoryRequest
from standins.model.rules.vocabulary import kinds_named
from standins.model.rules.watch_wish import address_in

_SAID = re.compile(
    r"\bskill [`“\"]?([A-Za-z][A-Za-z0-9_-]{0,63})[`”\"]? (?:has a problem|failed|is broken)", re.IGNORECASE
)
_STEM = re.compile(r"(?<![\w/.-])([A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)+)(?![\w/-]|\.\w)")
_ACTS = re.compile(
    r"\b(fix|repair|correct|change|make|set|move|adjust|lower|raise|why|sensitive|répare\w*|corrige\w*|sensible)\b",
    re.IGNORECASE,
)


def named_skill(text: str) -> str | None:
    """Return the skill that a text wants repaired or changed; None if there is none.

    It is called a skill, or, where no kind of work is named, has a `_` in its name.
    """
    found = _SAID.search(text) or (None if kinds_named(text) else _STEM.search(text))
    return found[1] if found and _ACTS.search(text) else None


def work_on_named_skill(stem: str, request: StoryRequest, language: str, tools: Set[str]) -> StandinReply:
    """Read the skill, make the change that rules can make, or say that they can make none."""
    made = request.made
    source, read = skill_calls.source_of(made, stem)
    if source is None:
        if (
            skill_calls.count_tries(made, "read_skill", name=stem)
            and skill_calls.last_answer(made, "read_skill") is None
        ):
            return end_skill_work(skill_phrase(language, "no_skill", skill=stem), made, tools)
        return read_first([read] if read is not None else [], made, language)
    done = skill_calls.last_saved(made, stem)
    if done is not None:
        return end_skill_work(report_skills(language, [done]), made, tools)
    told = skill_calls.last_answer(made, "read_skill") or {}
    problems = told.get("problems")
    listed = [one for one in problems if isinstance(one, dict)] if isinstance(problems, list) else []
    new = _changed(source, request.text) if not listed else skill_source.repair_source(source, listed)
    if new != source:
        base = skill_calls.version_of(made, stem)
        return write_draft(SkillFileDraft(stem, new, f"Asked for by: {request.text[:400]}", base), made, language)
    if not listed and "skill_runs" in tools and not skill_calls.count_tries(made, "skill_runs"):
        return StandinReply(calls=[ReplyCall("skill_runs", {"name": stem})])
    error = "; ".join(str(one.get("reason")) for one in listed[:3]) or _last_error(
        skill_calls.last_answer(made, "skill_runs")
    )
    return end_skill_work(skill_phrase(language, "no_fault", skill=stem, error=error), made, tools)


def _changed(source: str, text: str) -> str:
    address, factor = address_in(text), sensitivity_wanted(text)
    if address:
        return skill_source.move_to_address(source, address)
    return tune_sensitivity(source, factor) if factor is not None else source


def _last_error(told: object) -> str:
    runs = told.get("runs") if isinstance(told, dict) else None
    errors = [one.get("error") for one in runs if isinstance(one, dict)] if isinstance(runs, list) else []
    error = next((one for one in errors if one), None)
    return str(error.get("message") if isinstance(error, dict) else error or "–")[:300]
