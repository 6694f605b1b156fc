"""The verdict `route`: where a message of the main thread belongs, by the facts that come with the question."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from app.standins.model.rules.intent import Intent, intent_of, is_polite_wish, points_back, wants_new
from app.standins.model.rules.ordering import pick
from app.standins.model.rules.shown import Work
from app.standins.model.rules.vocabulary import CHANGING, PLURAL_POINTING, content_words, kinds_named, words
from app.standins.model.rules.wish import Wish, wish

CLEAR_LEAD = 0.2
_INTO = re.compile(r"\b(turn|convert|transform|animate|make|transforme|fais|anime)\b.*\b(into|to a|en une?|en)\b|\banimate\b|\banime\b", re.I)


def route(facts: Mapping[str, Any]) -> dict[str, Any]:
    """The verdict as JSON."""
    text = str(_mapping(facts.get("message")).get("text") or "")
    tasks = [row for name in ("tasks", "older") for row in _rows(facts, name)]
    wanted = wish(text)
    intent = intent_of(text, first=True)
    if intent in {Intent.TALK, Intent.ASK, Intent.FORBIDDEN}:
        return _verdict("main", ["it asks for words, not for work"])
    if _INTO.search(text) and wanted.kind in {"video", "audio", "model3d", "image"} and points_back(text):
        return _light(text, wanted, facts, tasks)
    if wants_new(text) or (wanted.kind and wanted.makes and not points_back(text)):
        return _fresh(text, wanted)
    return _followup(text, wanted, facts, tasks)


def scores(text: str, tasks: Sequence[Mapping[str, Any]], thread: Sequence[Mapping[str, Any]]) -> list[tuple[float, Mapping[str, Any]]]:
    """How well each task fits a follow-up, best first: own words count most, then kinds and number, then recency."""
    spoken_of = next((row.get("task_id") for row in reversed(thread) if row.get("task_id")), None)
    scored = [(_score(text, task, spoken_of), task) for task in tasks]
    return sorted(scored, key=lambda pair: -pair[0])


def _followup(text: str, wanted: Wish, facts: Mapping[str, Any], tasks: list[Mapping[str, Any]]) -> dict[str, Any]:
    if not _changes(text):
        return _fresh(text, wanted) if wanted.makes else _verdict("main", ["it names no work and no task"])
    ranked = [pair for pair in scores(text, tasks, _rows(facts, "thread")) if pair[0] > 0]
    candidates = [{"task_id": str(task.get("id")), "score": round(score, 2)} for score, task in ranked[:5]]
    if not ranked:
        if wanted.kind and wanted.makes:
            return _fresh(text, wanted)
        return _verdict("main", ["it sounds like a change, but no task fits"])
    best, task = ranked[0]
    if len(ranked) > 1 and best - ranked[1][0] < CLEAR_LEAD:
        return _verdict("ask", ["more than one task fits equally well"], candidates=candidates)
    reasons = [f"it changes what the task “{str(task.get('goal'))[:80]}” has made"]
    return _verdict("existing", reasons, task_id=str(task.get("id")), candidates=candidates)


def _fresh(text: str, wanted: Wish) -> dict[str, Any]:
    single = wanted.count == 1 and wanted.kind in {"image", "video", "audio", "model3d"}
    many_steps = re.search(r"\b(then|campaign|storyboard|project|puis|ensuite|campagne)\b", text, re.IGNORECASE)
    if single and not many_steps:
        return _verdict("light", ["one work, in one generation"], goal=text.strip())
    return _verdict("new", ["a goal of its own, with several steps"], goal=text.strip())


def _light(text: str, wanted: Wish, facts: Mapping[str, Any], tasks: list[Mapping[str, Any]]) -> dict[str, Any]:
    works = _works_meant(text, facts, tasks)
    if not works:
        return _verdict("ask", ["it is unclear which work is meant"], candidates=[
            {"task_id": str(task.get("id")), "score": 0.5} for task in tasks[:5]])  # fmt: skip
    return _verdict(
        "light", ["one generation from a work that is there"], goal=text.strip(), object_ids=[work.id for work in works]
    )


def _works_meant(text: str, facts: Mapping[str, Any], tasks: list[Mapping[str, Any]]) -> list[Work]:
    """The source works: attached ones, else those of the task that fits best, by ordinal."""
    attached = [str(_mapping(one).get("id") or one) for one in _mapping(facts.get("message")).get("attachments") or ()]
    if attached:
        return [Work(one, "image", "", 1, False) for one in attached]
    source = re.split(r"\b(?:into|to a|en une?)\b", text, maxsplit=1)[0]
    ranked = [task for score, task in scores(source, tasks, _rows(facts, "thread")) if score > 0] or list(tasks)
    for task in ranked:
        pictures = [
            Work(str(row.get("id")), str(row.get("kind")), str(row.get("title") or ""), 1, False)
            for row in _rows(task, "objects")
            if row.get("kind") in {"image", "video"}
        ]
        if pictures:
            return pick(pictures, source)[:1]
    return []


def _score(text: str, task: Mapping[str, Any], spoken_of: object) -> float:
    if task.get("status") in {"archived", "stopped"}:
        return 0.0
    objects = _rows(task, "objects")
    about = content_words(" ".join([str(task.get("goal") or ""), *(str(row.get("title") or "") for row in objects)]))
    said = content_words(text) - CHANGING
    score = 0.2 + min(0.6, 0.3 * len(said & about))
    kinds = {str(row.get("kind")) for row in objects} | set(kinds_named(str(task.get("goal") or ""))[:1])
    named = kinds_named(text)
    if named:
        score += 0.2 if named[0] in kinds else -0.3
    if PLURAL_POINTING & set(words(text)) and (len(objects) > 1 or task.get("kind") == "persistent"):
        score += 0.25
    elif PLURAL_POINTING & set(words(text)):
        score -= 0.15
    if task.get("id") == spoken_of and not re.search(r"\blast time|\bprevious|\bformer|\bearlier|dernière fois", text.lower()):
        score += 0.25
    return max(0.0, score)


def _changes(text: str) -> bool:
    return points_back(text) or bool(CHANGING & set(words(text))) or is_polite_wish(text) or not wish(text).makes


def _verdict(outcome: str, reasons: list[str], **more: Any) -> dict[str, Any]:
    base = {"outcome": outcome, "task_id": None, "goal": "", "object_ids": [], "reasons": reasons, "candidates": []}
    return {**base, **more}


def _rows(facts: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    listed = facts.get(name)
    return [row for row in listed if isinstance(row, Mapping)] if isinstance(listed, list) else []


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
