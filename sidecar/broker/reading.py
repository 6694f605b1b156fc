"""What a child asks, read from bytes that may be anything."""

from __future__ import annotations

import json
from typing import Any

from pydantic import ValidationError

from core.llm.text import clean_json
from sidecar.broker.asks import Ask
from sidecar.broker.denied import Failed

_MOST_DEPTH = 100


def read_ask(shape: type[Ask], body: bytes, *, events: bool) -> Ask:
    """The request; with `events`, from one event or a list of them. Raises Failed."""
    try:
        said = json.loads(clean_json(body.decode("utf-8", "replace")))
        _check_plain(said)
        if events:
            # The SDK sends its events as they are, one or several.
            said = {"events": said if isinstance(said, list) else [said]}
        return shape.model_validate(said)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise Failed(f"the request is malformed: {place}: {first['msg']}", retriable=False) from None
    except (ValueError, RecursionError):
        raise Failed("the request is no JSON", retriable=False) from None


def _check_plain(said: Any) -> None:
    """Raises ValueError or RecursionError for numbers that JSON has not, and for what is nested deeper than anybody
    needs: others write it down by going into it."""
    json.dumps(said, allow_nan=False)
    level = [said] if isinstance(said, dict | list) else []
    for _ in range(_MOST_DEPTH):
        within = (one.values() if isinstance(one, dict) else one for one in level)
        level = [one for values in within for one in values if isinstance(one, dict | list)]
        if not level:
            return
    raise RecursionError
