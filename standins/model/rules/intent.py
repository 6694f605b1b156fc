"""The intent of a message: make, change, add, cancel, or only talk."""

from __future__ import annotations

import re
from enum import StrEnum

from standins.model.rules.memory_talk import is_memory_talk
from standins.model.rules.vocabulary import (
    ASKING,
    CHANGING,
    COLOURS,
    GREETINGS,
    MAKING,
    NUMBERS,
    POINTING,
    VERBS,
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


_FORBIDDEN = re.compile(
    r"\b(build|make|how to)\b.*\b(bomb|explosive|nerve agent)\b|\bporn|\bnude (child|minor|kid)", re.IGNORECASE
)
_CANCEL = re.compile(r"^\W*(please )?(stop|cancel|abort|never mind|forget it|annule|arrête)\b", re.IGNORECASE)
_POLITE = re.compile(
    r"^\W*(could|can|would|will) (you|we|the|it|that|this|they|those|these|i have)\b"
    r"|^\W*(peux-tu|pouvez-vous|pourriez-vous|pourrais-tu|est-ce que tu peux)\b",
    re.IGNORECASE,
)
_MORE = re.compile(
    rf"\b(?:(?:{'|'.join(NUMBERS)}|\d{{1,2}}|some|a few) more|another|additional|un autre|une autre|de plus)\b"
    r"|\bencore (?:un|une|deux|trois)\b",
    re.IGNORECASE,
)
_MORE_OF_A_QUALITY = re.compile(r"\bsome more (?!posters?|pictures?|images?|videos?|of)\w+\b", re.IGNORECASE)
_KNOWN_WORK = re.compile(
    r"\b(the|that|this|these|those|my|our|both|its|ces|mes|nos|cette) ([\w-]+ ){0,3}"
    r"(sets?|series|posters?|pictures?|images?|videos?|films?|one|ones|document|text|poem|brief|sound|song|model)\b"
    r"|\b(la|le|les|l') ?(set|série|lot|affiches?|images?|vidéos?|film|ensemble|texte|poème)\b"
)
# These also begin or belong to new wishes: "a set of …", "for the …".
_WEAK_POINTING = frozenset(
    ("set", "series", "ensemble", "série", "lot", "that", "le", "la", "les", "l'", "their", "its")
)


def intent_of(text: str, *, first: bool) -> Intent:
    """Return what a text wants. `first`: nothing was asked for before, so there is nothing to change."""
    if _FORBIDDEN.search(text):
        return Intent.FORBIDDEN
    if is_talk(text):
        return Intent.TALK
    if _CANCEL.search(text):
        return Intent.CANCEL
    if is_question(text) or is_memory_talk(text):
        return Intent.ASK
    if first:
        return Intent.MAKE
    return Intent.ADD if _adds(text) or wants_new(text) else Intent.CHANGE


def is_talk(text: str) -> bool:
    """Whether a text is only greetings and thanks, or has no word at all."""
    said = words(text)
    greeted = bool(said) and said[0] in GREETINGS and len(said) <= 3 and not _acts(said)
    return greeted or all(word in GREETINGS for word in said)


def is_question(text: str) -> bool:
    """Whether a text wants words as an answer; `could the set be warmer?` is a polite wish, not a question."""
    said = words(text)
    if not said or is_polite_wish(text):
        return False
    return said[0] in ASKING or (text.rstrip().endswith(("?", "？")) and not _acts(said))


def is_polite_wish(text: str) -> bool:
    return bool(_POLITE.search(text)) and _acts(words(text))


def wants_new(text: str) -> bool:
    """Whether a text asks for a new work.

    It names a work or a verb of making, points at nothing that exists, and is neither only a change nor `one more`.
    """
    said = set(words(text))
    makes = bool(MAKING & said) or any(word in VERBS for word in said)
    return (
        bool(kinds_named(text) or makes)
        and not points_back(text)
        and (makes or not CHANGING & said)
        and not _adds(text)
    )


def points_back(text: str) -> bool:
    """Whether a text points at a work that exists."""
    said = set(words(text))
    return bool(ordinals(text) or _KNOWN_WORK.search(text.lower()) or said & (POINTING - _WEAK_POINTING))


def changes(text: str) -> bool:
    """Whether a text wants something changed or added, or points at a work that exists."""
    said = set(words(text))
    return points_back(text) or bool(said & (CHANGING | COLOURS)) or is_polite_wish(text) or _adds(text)


def _adds(text: str) -> bool:
    """Whether a text asks for further works: `two more` or `another one`, but not `some more contrast`."""
    return bool(_MORE.search(text)) and not _MORE_OF_A_QUALITY.search(text)


def _acts(said: list[str]) -> bool:
    """Whether a word makes or changes something, or names a colour."""
    return any(word in MAKING or word in CHANGING or word in COLOURS or word in VERBS for word in said)
