"""What is too long for a request, as it stands in it: its beginning, and the way to read the rest."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

_SHORTEST = 200
_KEPT_OF_A_STRING = 300


def share(whole: int, parts: int, most: int) -> int:
    """How many characters each of `parts` may have when all of them share `whole` and none needs more than `most`."""
    return max(_SHORTEST, min(most, whole // max(parts, 1)))


def words(text: str, ref: str, most: int) -> str:
    if len(text) <= most:
        return text
    return f"{text[:most]}\n[{len(text):,} characters in all; read on with read_back, ref {ref}]"


def result(content: Mapping[str, Any], text: str, ref: str, most: int) -> Mapping[str, Any]:
    """`text` is `content` as JSON."""
    if len(text) <= most:
        return content
    return {"shortened": True, "characters": len(text), "beginning": text[:most], "read_back": ref}


def arguments(text: str, most: int) -> str:
    """Arguments as a provider takes them back, always one JSON object: it refuses every later request otherwise."""
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        return "{}"
    if not isinstance(given, dict):
        return "{}"
    if len(text) <= most:
        return text
    short = json.dumps(_cut(given), ensure_ascii=False)
    return short if len(short) <= most else json.dumps({"shortened": text[:_SHORTEST]}, ensure_ascii=False)


def _cut(value: Any) -> Any:
    match value:
        case str() if len(value) > _KEPT_OF_A_STRING:
            return f"{value[:_KEPT_OF_A_STRING]} [{len(value):,} characters]"
        case list():
            return [_cut(item) for item in value]
        case dict():
            return {key: _cut(item) for key, item in value.items()}
        case _:
            return value
