"""The plan of a task's works, as a brief and a checklist."""

from __future__ import annotations

import re
from dataclasses import dataclass

from standins.model.reply import ReplyCall
from standins.model.rules.phrases import noun, phrase
from standins.model.rules.vocabulary import words
from standins.model.rules.wish import WorkWish

_VIEWS = (
    "one large motif in the middle",
    "a wide view with deep space",
    "lettering as the hero, small motif",
    "a close-up, cropped boldly",
    "a pattern that repeats",
    "two figures in dialogue",
)
_SHAPES = (
    (re.compile(r"\b(landscape|wide|banner|horizontal|paysage)\b", re.IGNORECASE), "1536x1024"),
    (re.compile(r"\b(square|logo|avatar|carré)\b", re.IGNORECASE), "1024x1024"),
)


LONGEST_PROMPT = 4_000
"""How many characters of a person's words go into the prompt of a work."""


@dataclass(frozen=True)
class PlannedWork:
    """A work to be made."""

    kind: str
    title: str
    prompt: str


def planned_works(wish: WorkWish, language: str, *, start: int = 1, source: str = "") -> list[PlannedWork]:
    """Return the works of a wish, each with a title and a prompt.

    `start` is the number of the first; `source` names what they are made from, for wishes without a subject.
    """
    kind = wish.kind or "document"
    one = noun(language, kind, words(wish.text))
    total = start + wish.count - 1
    works = []
    for place in range(wish.count):
        n = start + place
        named = wish.names[place] if len(wish.names) > 1 and place < len(wish.names) else None
        subject = wish.subject or (f"{source} – {one}" if source else one)
        title = named or (f"{subject} – {one} {n}" if total > 1 else subject)
        detail = f" {named}." if named else ""
        view = f" {n} of {total}: {_VIEWS[(n - 1) % len(_VIEWS)]}." if total > 1 else ""
        works.append(PlannedWork(kind, title, f"{wish.text.strip()[:LONGEST_PROMPT]}{detail}{view}"))
    return works


def plan_calls(
    wish: WorkWish, works: list[PlannedWork], language: str, *, brief: bool, checklist: bool
) -> list[ReplyCall]:
    """Return the calls that write the parts of the plan for which a flag is set."""
    calls = []
    if brief:
        calls.append(ReplyCall("set_brief", {"brief": _brief(wish, works, language)}))
    if checklist:
        calls.append(ReplyCall("create_checklist", {"steps": _steps(works, language)}))
    return calls


def says_a_shape(text: str) -> bool:
    return any(pattern.search(text) for pattern, _ in _SHAPES)


def picture_size(text: str) -> str:
    """Return the size for the shape that a text names; portrait if it names none."""
    return next((size for pattern, size in _SHAPES if pattern.search(text)), "1024x1536")


def _brief(wish: WorkWish, works: list[PlannedWork], language: str) -> str:
    colours = ", ".join(wish.colours) or phrase(language, "free")
    return phrase(
        language, "brief", goal=wish.text.strip(), works="; ".join(one.title for one in works), colours=colours
    )


def _steps(works: list[PlannedWork], language: str) -> list[dict[str, object]]:
    steps: list[dict[str, object]] = [
        {"title": phrase(language, "step_brief"), "acceptance": phrase(language, "accept_brief")}
    ]
    steps += [{"title": work.title, "acceptance": phrase(language, "accept_work"), "depends_on": [1]} for work in works]
    check = {"title": phrase(language, "step_check"), "acceptance": phrase(language, "accept_check")}
    return [*steps, {**check, "depends_on": list(range(2, len(works) + 2))}]
