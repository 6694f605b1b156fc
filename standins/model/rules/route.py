"""Rule for the verdict `route`: where a message of Main belongs, by the facts that come with the question."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from standins.model.rules.intent import Intent, changes, intent_of, points_back, wants_new
from standins.model.rules.ordering import pick
from standins.model.rules.shown_state import ShownWork
from standins.model.rules.skill_named import named_skill
from standins.model.rules.vocabulary import (
    CHANGING,
    KIND_OF,
    MAKING,
    ORDINALS,
    PLURAL_POINTING,
    content_words,
    kind_by_verb,
    kinds_named,
    ordinals,
    stem,
    words,
)
from standins.model.rules.watch_wish import names_metrics, wants_watching
from standins.model.rules.wish import INTO, WorkWish, read_work_wish

CLEAR_LEAD = 0.2
_MADE_ELSEWHERE = ("image", "video", "audio", "model3d")
_MANY_STEPS = re.compile(r"\b(then|campaign|storyboard|project|puis|ensuite|campagne)\b", re.IGNORECASE)
_NOT_TELLING = CHANGING | MAKING | frozenset((*ORDINALS, *KIND_OF, *(stem(word) for word in KIND_OF)))
_FORMER = re.compile(r"\blast (time|week|month|night)|\bprevious|\bformer|\bearlier|dernière fois", re.IGNORECASE)


def route(facts: Mapping[str, Any]) -> dict[str, Any]:
    """The verdict as JSON."""
    text = str(_mapping(facts.get("message")).get("text") or "")
    tasks = [row for name in ("tasks", "older") for row in _rows(facts, name)]
    wanted = read_work_wish(text)
    intent = intent_of(text, first=True)
    if intent is not Intent.FORBIDDEN and (about_watching := _watching(text, tasks)) is not None:
        return about_watching
    if intent in {Intent.TALK, Intent.ASK, Intent.FORBIDDEN}:
        return _verdict("main", ["it asks for words, not for work"])
    if _derives(text, wanted):
        return _light(text, wanted, facts, tasks)
    if wants_new(text):
        return _fresh(text, wanted)
    return _followup(text, wanted, facts, tasks)


def _watching(text: str, tasks: list[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Return the verdict for a message about watching services or about a skill; None for any other message."""
    if wants_watching(text):
        return _verdict("new", ["something is to be watched while nobody looks"], goal=text.strip())
    if named_skill(text) is not None:
        return _verdict("new", ["a skill is to be changed"], goal=text.strip())
    watching = [task for task in tasks if wants_watching(str(task.get("goal") or ""))] if names_metrics(text) else []
    if not watching:
        return None
    return _verdict("existing", ["it says where the metrics are"], task_id=str(watching[0].get("id")))


def _derives(text: str, wanted: WorkWish) -> bool:
    """Whether a work is to be made from an existing one of another kind, such as a film from the first poster."""
    if wanted.kind not in {"video", "audio", "model3d"} or not wanted.makes:
        return False
    into = INTO.search(text)
    if into and wanted.kind in kinds_named(into[1]):
        return points_back(text)
    others = [kind for kind in kinds_named(text) if kind != wanted.kind]
    a_new_one = re.search(r"\b(an?|une?|\d+|\w+-second)\b", text.lower()) is not None
    return (a_new_one or kind_by_verb(text) == wanted.kind) and (
        bool(ordinals(text)) or (bool(others) and points_back(text))
    )


def scores(
    text: str, tasks: Sequence[Mapping[str, Any]], thread: Sequence[Mapping[str, Any]]
) -> list[tuple[float, Mapping[str, Any]]]:
    """Return how well each task fits a follow-up, best first: by common words, kinds, number and recency."""
    spoken_of = next((row.get("task_id") for row in reversed(thread) if row.get("task_id")), None)
    scored = [(_score(text, task, spoken_of), task) for task in tasks]
    return sorted(scored, key=lambda pair: -pair[0])


def _followup(text: str, wanted: WorkWish, facts: Mapping[str, Any], tasks: list[Mapping[str, Any]]) -> dict[str, Any]:
    if not changes(text):
        return _fresh(text, wanted) if wanted.makes else _verdict("main", ["it names no work and no task"])
    ranked = [pair for pair in scores(text, tasks, _rows(facts, "thread")) if pair[0] > 0]
    candidates = [{"task_id": str(task.get("id")), "score": round(score, 2)} for score, task in ranked[:5]]
    if not ranked:
        return _verdict("main", ["it sounds like a change, but no task fits"])
    best, task = ranked[0]
    if len(ranked) > 1 and best - ranked[1][0] < CLEAR_LEAD:
        return _verdict("ask", ["more than one task fits equally well"], candidates=candidates)
    reasons = [f"it changes what the task “{str(task.get('goal'))[:80]}” has made"]
    return _verdict("existing", reasons, task_id=str(task.get("id")), candidates=candidates)


def _fresh(text: str, wanted: WorkWish) -> dict[str, Any]:
    """Return the verdict for a new work: `light` if one generation makes it, else `new`."""
    if wanted.count == 1 and wanted.kind in _MADE_ELSEWHERE and not _MANY_STEPS.search(text):
        return _verdict("light", ["one work, in one generation"], goal=text.strip())
    return _verdict("new", ["a goal of its own, with several steps"], goal=text.strip())


def _light(text: str, wanted: WorkWish, facts: Mapping[str, Any], tasks: list[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the verdict for a work made from an existing one: `light`, or `ask` if it is unclear which is meant."""
    works = _works_meant(text, wanted, facts, tasks)
    if not works:
        candidates = [{"task_id": str(task.get("id")), "score": 0.5} for task in tasks[:5]]
        return _verdict("ask", ["it is unclear which work is meant"], candidates=candidates)
    ids = [work.id for work in works]
    return _verdict("light", ["one generation from a work that is there"], goal=text.strip(), object_ids=ids)


def _works_meant(
    text: str, wanted: WorkWish, facts: Mapping[str, Any], tasks: list[Mapping[str, Any]]
) -> list[ShownWork]:
    """Return the works to start from: the attached ones, else one of the task that fits best; none if unclear."""
    attached = [str(_mapping(one).get("id") or one) for one in _mapping(facts.get("message")).get("attachments") or ()]
    if attached:
        return [ShownWork(one, "image", "", 1, False) for one in attached]
    into = INTO.search(text)
    source = text[: into.start(1)] if into else text
    fitting = [
        (score, pictures)
        for score, task in scores(source, tasks, _rows(facts, "thread"))
        for pictures in [_sources(task, tasks, wanted.kind)]
        if pictures
    ]
    if not fitting or (len(fitting) > 1 and fitting[0][0] - fitting[1][0] < CLEAR_LEAD):
        return []
    return pick(fitting[0][1], source)[:1]


def _sources(task: Mapping[str, Any], tasks: Sequence[Mapping[str, Any]], wanted: str | None) -> list[ShownWork]:
    """Return the pictures and films of a task from which a work of the kind `wanted` can start.

    A light task also lists works of other tasks that it uses; those are left out.
    """
    others = [one for one in tasks if one is not task] if task.get("kind") == "light" else []
    lent = {row.get("id") for one in others for row in _rows(one, "objects")}
    return [
        ShownWork(str(row.get("id")), str(row.get("kind")), str(row.get("title") or ""), 1, False)
        for row in _rows(task, "objects")
        if row.get("kind") in {"image", "video"} - {wanted} and row.get("id") not in lent
    ]


def _score(text: str, task: Mapping[str, Any], spoken_of: object) -> float:
    if task.get("status") in {"archived", "stopped"}:
        return 0.0
    objects = _rows(task, "objects")
    about = content_words(" ".join([str(task.get("goal") or ""), *(str(row.get("title") or "") for row in objects)]))
    said = content_words(text) - _NOT_TELLING
    score = 0.2 + min(0.6, 0.3 * len(said & about))
    kinds = {str(row.get("kind")) for row in objects} | set(kinds_named(str(task.get("goal") or ""))[:1])
    named = kinds_named(text)
    if named:
        score += 0.2 if named[0] in kinds else -0.3
    several = len(objects) > len({row.get("kind") for row in objects})
    if PLURAL_POINTING & set(words(text)) and (several or task.get("kind") == "persistent"):
        score += 0.25
    elif PLURAL_POINTING & set(words(text)):
        score -= 0.15
    if task.get("id") == spoken_of and not _FORMER.search(text):
        score += 0.25
    return max(0.0, score)


def _verdict(outcome: str, reasons: list[str], **more: Any) -> dict[str, Any]:
    base = {"outcome": outcome, "task_id": None, "goal": "", "object_ids": [], "reasons": reasons, "candidates": []}
    return {**base, **more}


def _rows(facts: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    listed = facts.get(name)
    return [row for row in listed if isinstance(row, Mapping)] if isinstance(listed, list) else []


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
