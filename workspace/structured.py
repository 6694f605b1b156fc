"""Check of the JSON that a collection or a flow holds."""

from __future__ import annotations

import json
from typing import Any

from core.errors import InvalidError

JSON = "application/json"
ITEMS_LIMIT = 200
_KINDS = {
    "collection": '{"items": [{"object_id": "object_…", "version": 1}]}',
    "flow": "{}",
}


def is_structured(kind: str) -> bool:
    return kind in _KINDS


def check_structured(kind: str, content: str) -> None:
    """Raise InvalidError that names what is wrong, unless an object of this kind may hold this content."""
    if not is_structured(kind):
        return
    try:
        value = json.loads(content)
    except RecursionError:
        raise InvalidError(f"the content of a {kind} is nested too deeply") from None
    except ValueError as error:
        raise InvalidError(
            f"the content of a {kind} is JSON, such as {_KINDS[kind]}, and this is none: {error}"
        ) from None
    if not isinstance(value, dict):
        raise InvalidError(f"the content of a {kind} is a JSON object, such as {_KINDS[kind]}")
    if kind == "collection":
        _check_items(value.get("items"))


def _check_items(items: Any) -> None:
    if not isinstance(items, list) or not 1 <= len(items) <= ITEMS_LIMIT:
        raise InvalidError(f"a collection has `items`: a list of 1 to {ITEMS_LIMIT}, as in {_KINDS['collection']}")
    for n, item in enumerate(items):
        named = item.get("object_id") if isinstance(item, dict) else None
        version = item.get("version") if isinstance(item, dict) else None
        if not isinstance(named, str) or type(version) is not int or version < 1:
            raise InvalidError(f"items.{n} of a collection names an `object_id` and a `version` from 1 on")
