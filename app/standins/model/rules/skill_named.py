"""A person names a skill and wants it repaired or changed."""

from __future__ import annotations

import re
from collections.abc import Set

from app.standins.model.reply import Call, Reply
from app.standins.model.rules import skill_calls, skill_source
from app.standins.model.rules.skill_words import report, say
from app.standins.model.rules.skill_writing import Draft, end, reading, sensitivity_wanted, tuned, write
from app.standins.model.rules.story import Request
from app.standins.model.rules.vocabulary import kinds_named
from app.standins.model.rules.watch_wish import address_in

_SAID = re.compile(
    r"\bskill [`“\"]?([A-Za-z][A-Za-z0-9_-]{0,63})[`”\"]? (?:has a problem|failed|is broken)", re.IGNORECASE
)
_STEM = re.compile(r"(?<![\w/.-])([A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)+)(?![\w/-]|\.\w)")
_ACTS = re.compile(
    r"\b(fix|repair|correct|change|make|set|move|adjust|lower|raise|why|sensitive|répare\w*|corrige\w*|sensible)\b",
    re.IGNORECASE,
)


def named_skill(text: str) -> str | None:
    """The skill that something is to be done to: one that is called a skill, or else, where no kind of work is named,
    a name with `_` in it."""
    found = _SAID.search(text) or (None if kinds_named(text) else _STEM.search(text))
    return found[1] if found and _ACTS.search(text) else None


def named_work(stem: str, request: Request, language: str, tools: Set[str]) -> Reply:
    """Read it, do what rules can do, and say what they cannot."""
    made = request.made
    source, read = skill_calls.source_of(made, stem)
    if source is None:
        if skill_calls.tries(made, "read_skill", name=stem) and skill_calls.answered(made, "read_skill") is None:
            return end(say(language, "no_skill", skill=stem), made, tools)
        return reading([read] if read is not None else [], made, language)
    done = skill_calls.written(made, stem)
    if done is not None:
        return end(report(language, [done]), made, tools)
    told = skill_calls.answered(made, "read_skill") or {}
    problems = told.get("problems")
    listed = [one for one in problems if isinstance(one, dict)] if isinstance(problems, list) else []
    new = _changed(source, request.text) if not listed else skill_source.repaired(source, listed)
    if new != source:
        base = skill_calls.version_of(made, stem)
        return write(Draft(stem, new, f"Asked for by: {request.text[:400]}", base), made, language)
    if not listed and "skill_runs" in tools and not skill_calls.tries(made, "skill_runs"):
        return Reply(calls=[Call("skill_runs", {"name": stem})])
    error = "; ".join(str(one.get("reason")) for one in listed[:3]) or _last_error(
        skill_calls.answered(made, "skill_runs")
    )
    return end(say(language, "no_fault", skill=stem, error=error), made, tools)


def _changed(source: str, text: str) -> str:
    address, factor = address_in(text), sensitivity_wanted(text)
    if address:
        return skill_source.moved_to(source, address)
    return tuned(source, factor) if factor is not None else source


def _last_error(told: object) -> str:
    runs = told.get("runs") if isinstance(told, dict) else None
    errors = [one.get("error") for one in runs if isinstance(one, dict)] if isinstance(runs, list) else []
    error = next((one for one in errors if one), None)
    return str(error.get("message") if isinstance(error, dict) else error or "–")[:300]
