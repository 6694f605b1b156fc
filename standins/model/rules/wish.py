"""The works that a message requests, as far as rules can tell."""

from __future__ import annotations

import re
from dataclasses import dataclass

from standins.model.rules.vocabulary import (
    COLOURS,
    KIND_OF,
    MAKING,
    NUMBERS,
    ORDINALS,
    POINTING,
    kind_by_verb,
    kinds_named,
    words,
)

MOST_WORKS = 12
INTO = re.compile(
    r"\b(?:turn|convert|transform|make|transforme|fais)\b.*\b(?:into|to|en)\b(.*)", re.IGNORECASE | re.DOTALL
)
_SECONDS = re.compile(r"\b(?:(\w+)[ -](?:seconds?|secs?|secondes?)|(\d+) ?s(?:ecs?)?)\b", re.IGNORECASE)
_POINTERS = POINTING | frozenset(ORDINALS) | {"of", "all", "each", "the"}
_QUOTED = re.compile(r"[\"“«]\s*([^\"”»]{1,80}?)\s*[\"”»]")
_SUBJECTS = tuple(
    re.compile(rf"\b(?:{lead})\s+(.+?)(?:[.;:!?\n]|,|$)", re.IGNORECASE)
    for lead in ("titled|called|intitulée?", "for|pour", "about|sur", "of|d'un|d'une|de la|du|de")
)
_ARTICLE = re.compile(r"^(the|a|an|our|my|le|la|les|un|une|mon|ma|notre)\s+", re.IGNORECASE)
_OPENING = re.compile(r"^\W*(please |could you |can you )?[\w-]+ (me |us )?(a |an |the |une? )?", re.IGNORECASE)
_LISTED = re.compile(r":\s*([^:.\n]+)\.?$", re.MULTILINE)


@dataclass(frozen=True)
class WorkWish:
    """`kind` is None when no kind of work is named; `seconds` when no length is; `names` are the works' own names."""

    text: str
    kind: str | None
    count: int
    seconds: int | None
    subject: str
    colours: tuple[str, ...]
    names: tuple[str, ...]
    makes: bool


def read_work_wish(text: str) -> WorkWish:
    """Read from a text which works it wishes for."""
    kind = kind_wanted(text)
    said = words(text)
    listed = _names(text)
    return WorkWish(
        text=text,
        kind=kind,
        count=min(MOST_WORKS, max(_count(text, kind), len(listed))),
        seconds=seconds_wanted(text),
        subject=subject_of(text),
        colours=tuple(dict.fromkeys(word for word in said if word in COLOURS)),
        names=listed,
        makes=any(word in MAKING for word in said),
    )


def kind_wanted(text: str) -> str | None:
    """Return the kind to make: what follows `turn … into`, else what the first verb implies, else the first named."""
    into = INTO.search(text)
    if into and kinds_named(into[1]):
        return kinds_named(into[1])[0]
    opening = kind_by_verb(" ".join(text.split()[:4]))
    named = kinds_named(text)
    if opening in {"document", "video"} or not named:
        return opening or kind_by_verb(text)
    return named[0]


def seconds_wanted(text: str) -> int | None:
    for match in _SECONDS.finditer(text):
        word = (match[1] or match[2]).lower()
        number = int(word) if word.isdigit() else NUMBERS.get(word)
        if number and number > 1:
            return number
    return None


def subject_of(text: str) -> str:
    """Return what the work is about, as a short title; empty if the text only points at an existing work."""
    quoted = _QUOTED.search(text)
    if quoted:
        return quoted[1]
    found = next((match for pattern in _SUBJECTS for match in [pattern.search(text)] if match), None)
    if found is None and (INTO.search(text) or re.search(r"\b(animate|anime)\b", text, re.IGNORECASE)):
        return ""
    subject = _ARTICLE.sub("", (found[1] if found else _OPENING.sub("", text.strip())).strip())
    if set(words(subject)) <= _POINTERS:
        return ""
    short = " ".join(subject.split()[:6]).strip(" .,;:!?")
    return (short[:1].upper() + short[1:])[:80] if short else text.strip()[:40]


def _count(text: str, kind: str | None) -> int:
    """Return how many works are wanted: the number shortly before the noun, else 2 for a plural and 3 for a set.

    A length in seconds does not count works.
    """
    said = words(_SECONDS.sub(" ", text))
    place = next(
        (n for n, word in enumerate(said) if word in KIND_OF and KIND_OF[word] == (kind or KIND_OF[word])), None
    )
    if place is None:
        return 1
    plural = _plural(said[place])
    for before in reversed(said[max(0, place - 5) : place]):
        number = int(before) if before.isdigit() and len(before) < 3 else NUMBERS.get(before)
        if number and (number > 1 or not plural):
            return number
    if not plural:
        return 1
    return 3 if re.search(r"\b(set|series|série|ensemble)\b", text.lower()) else 2


def _plural(noun: str) -> bool:
    return noun.endswith("s")


def _names(text: str) -> tuple[str, ...]:
    """Return the names in quotes, or those listed after a colon."""
    quoted = tuple(dict.fromkeys(_QUOTED.findall(text)))
    if len(quoted) > 1:
        return quoted
    listed = _LISTED.search(text)
    parts = [part.strip(" '\"") for part in re.split(r",|\band\b|\bet\b", listed[1])] if listed else []
    named = tuple(part for part in parts if part and len(part) <= 40)
    return named if len(named) > 1 else quoted
