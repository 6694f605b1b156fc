"""Limits on the size of a request: how many steps of a task its history shows, and how texts are shortened.

The first step shown moves in whole blocks. Between two moves the history only grows at its end, so that a provider's
prompt cache can hold it. A shortened text keeps its beginning and says how to read the rest.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

MOST_SHOWN_STEPS = 60
STEP_BLOCK = 20
"""Steps by which the first one shown moves when there are more than `MOST_SHOWN_STEPS`."""
MOST_HISTORY_CHARACTERS = 200_000
SMALL_STEP_BLOCK = 5
"""Steps by which it moves when they have more than `MOST_HISTORY_CHARACTERS`."""
_SHORTEST = 200
_KEPT_OF_A_STRING = 300


def first_shown_step(total: int) -> int:
    """Return the number, from 0, of the first of `total` steps that is shown."""
    over = max(0, total - MOST_SHOWN_STEPS)
    return -(-over // STEP_BLOCK) * STEP_BLOCK


def first_step_that_fits(sizes: Sequence[int], first: int) -> int:
    """Return the first step to show so that the rest fits, in whole small blocks; the last step is always shown.

    `sizes` are the characters of the steps from number `first` on.
    """
    left = sum(sizes)
    start = first
    for n, size in enumerate(sizes[:-1], start=first):
        if left <= MOST_HISTORY_CHARACTERS and start % SMALL_STEP_BLOCK == 0:
            break
        left -= size
        start = n + 1
    return start


def share_characters(whole: int, parts: int, most: int) -> int:
    """Return how many characters each of `parts` may have: they share `whole`, and none needs more than `most`."""
    return max(_SHORTEST, min(most, whole // max(parts, 1)))


def shorten_text(text: str, ref: str, most: int) -> str:
    """Shorten a text to `most` characters; `ref` is the id by which the tool `read_back` finds the rest."""
    if len(text) <= most:
        return text
    return f"{text[:most]}\n[{len(text):,} characters in all; read on with read_back, ref {ref}]"


def shorten_result(content: Mapping[str, Any], text: str, ref: str, most: int) -> Mapping[str, Any]:
    """Shorten a result whose JSON, given as `text`, has more than `most` characters."""
    if len(text) <= most:
        return content
    return {"shortened": True, "characters": len(text), "beginning": text[:most], "read_back": ref}


def shorten_arguments(text: str, most: int) -> str:
    """Return arguments as one JSON object of at most `most` characters; providers refuse anything else in a history."""
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        return "{}"
    if not isinstance(given, dict):
        return "{}"
    if len(text) <= most:
        return text
    short = json.dumps(_shorten_value(given), ensure_ascii=False)
    return short if len(short) <= most else json.dumps({"shortened": text[:_SHORTEST]}, ensure_ascii=False)


def _shorten_value(value: Any) -> Any:
    match value:
        case str() if len(value) > _KEPT_OF_A_STRING:
            return f"{value[:_KEPT_OF_A_STRING]} [{len(value):,} characters]"
        case list():
            return [_shorten_value(item) for item in value]
        case dict():
            return {key: _shorten_value(item) for key, item in value.items()}
        case _:
            return value
