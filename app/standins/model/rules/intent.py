"""What a message is for: making, changing, adding, calling off, or only talking."""

from __future__ import annotations

import re
from enum import StrEnum

from app.standins.model.rules.vocabulary import (
    ASKING,
    CHANGING,
    COLOURS,
    GREETINGS,
    MAKING,
    POINTING,
    kinds_named,
    ordinals,
    words,
)


class Intent(StrEnum):
    MAKE = "make"
    CHANGE = "change"
    ADD = "add"
    CANCEL = "cancel"
    TALK = "talk"
    ASK = "ask"
    FORBIDDEN = "forbidden"


_FORBIDDEN = re.compile(r"\b(build|make|how to)\b.*\b(bomb|explosive|nerve agent)\b|\bporn|\bnude (child|minor|kid)", re.I)
_CANCEL = re.compile(r"^\W*(please )?(stop|cancel|abort|never mind|forget it|annule|arrête)\b", re.IGNORECASE)
_POLITE = re.compile(
    r"^\W*(could|can|would|will) (you|we|the|it|that|this|they|those|these|i have)\b"
    r"|^\W*(peux-tu|pouvez-vous|pourriez-vous|pourrais-tu|est-ce que tu peux)\b",
    re.IGNORECASE,
)
_ADD = re.compile(
    r"\b(another|more|additional|a (second|third|fourth|fifth|sixth)|encore|de plus|un autre|une autre)\b", re.IGNORECASE
)
_NEW = re.compile(r"\b(an?|one|two|three|four|five|six|seven|eight|nine|ten|\d+|some|new|un|une|des)\b", re.IGNORECASE)


def intent_of(text: str, *, first: bool) -> Intent:
    """`first` tells that nothing has been asked for before: then there is nothing to change."""
    said = words(text)
    if _FORBIDDEN.search(text):
        return Intent.FORBIDDEN
    if not said or all(word in GREETINGS for word in said) or (said[0] in GREETINGS and len(said) <= 3 and not _acts(said)):
        return Intent.TALK
    if _CANCEL.search(text):
        return Intent.CANCEL
    if is_question(text):
        return Intent.ASK
    if first:
        return Intent.MAKE
    if _ADD.search(text) and kinds_named(text) + [word for word in said if word in {"one", "ones"}] and not _change_only(said):
        return Intent.ADD
    if wants_new(text):
        return Intent.ADD
    return Intent.CHANGE


def is_question(text: str) -> bool:
    """A question wants words; `could the set be warmer?` is a polite wish and no question."""
    said = words(text)
    if not said or (_POLITE.search(text) and _acts(said)):
        return False
    return said[0] in ASKING or (text.rstrip().endswith(("?", "？")) and not _acts(said))


def is_polite_wish(text: str) -> bool:
    return bool(_POLITE.search(text)) and _acts(words(text))


def wants_new(text: str) -> bool:
    """A work is named with `a` or a number before it and nothing existing is pointed at."""
    said = words(text)
    named = kinds_named(text)
    return bool(named) and any(word in MAKING for word in said) and bool(_NEW.search(text)) and not points_back(text)


def points_back(text: str) -> bool:
    """Something that exists already is meant."""
    said = words(text)
    if ordinals(text) or re.search(r"\b(the|that|this|these|those|my|our|both) ([\w-]+ ){0,3}(set|series|posters?|pictures?"
                                   r"|images?|videos?|films?|one|ones|document|text|poem|brief)\b", text.lower()):  # fmt: skip
        return True
    made_of = re.search(r"\b(set|series|ensemble|série) (of|de|d')", text.lower())
    return any(word in POINTING - {"set", "series", "ensemble", "série", "that", "le", "la", "les", "l'"} for word in said) or (
        not made_of and re.search(r"\b(the|la|le|les) (set|series|série|affiches?|images?|ensemble)\b", text.lower()) is not None
    )


def _acts(said: list[str]) -> bool:
    return any(word in MAKING or word in CHANGING or word in COLOURS for word in said)


def _change_only(said: list[str]) -> bool:
    """`a bit more contrast` asks for more of a quality, not for more works."""
    return not any(word in {"one", "ones", "another", "autre"} for word in said) and not any(word in MAKING | {"add"} for word in said)
