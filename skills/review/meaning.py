"""What a person's short answer about an alarm means."""

from __future__ import annotations

from typing import Literal

Meaning = Literal["false_alarm", "late", "real", "other"]
_WORDS: tuple[tuple[Meaning, tuple[str, ...]], ...] = (
    ("false_alarm", ("false", "noise", "not real", "no incident", "too early", "ignore", "useless")),
    ("late", ("late", "missed")),
    ("real", ("real", "true", "acted", "useful", "right", "yes", "good")),
)


def meaning(value: str) -> Meaning:
    """By the words in it; an alarm that was real but came too late is late, and `not real` is false."""
    said = value.casefold().replace("_", " ")
    return next((means for means, words in _WORDS if any(word in said for word in words)), "other")
