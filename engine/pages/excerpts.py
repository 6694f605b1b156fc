"""JSON on a page: made readable, cut where it is long. Whoever wrote it may mean harm; templates escape it."""

import json
from collections.abc import Callable
from dataclasses import dataclass

from engine.json_text import Json, loads

MOST = 20_000


@dataclass(frozen=True)
class Excerpt:
    """`text` for the page; `whole` is the number of characters of the original, `cut` whether some are missing."""

    text: str
    whole: int
    cut: bool


def laid_out(value: Json) -> str:
    """JSON over several lines."""
    return json.dumps(value, ensure_ascii=False, indent=2)


def error_laid_out(value: Json) -> str:
    """What an error says, with its stack as a programmer knows it."""
    if not isinstance(value, dict) or not isinstance(value.get("message"), str):
        return laid_out(value)
    said, stack = f"{value.get('name') or 'Error'}: {value['message']}", value.get("stack")
    return f"{said}\n\n{stack.rstrip()}" if isinstance(stack, str) and stack.strip() else said


def memo_laid_out(value: Json) -> str:
    """What a step returned, or the error it ended with."""
    match value:
        case {"data": data} if len(value) == 1:
            return laid_out(data)
        case {"error": error} if len(value) == 1:
            return error_laid_out(error)
        case _:
            return laid_out(value)


def excerpt(text: str, whole: int | None = None, most: int = MOST, layout: Callable[[Json], str] = laid_out) -> Excerpt:
    """The beginning of a JSON text of `whole` characters, of which `text` may be the first part only."""
    length = len(text) if whole is None else whole
    if length > most or length > len(text):
        return Excerpt(text[:most], length, True)
    try:
        shown = layout(loads(text))
    except (ValueError, RecursionError):
        shown = text
    # Deep nesting would make a small text huge.
    return Excerpt(shown if len(shown) <= 4 * len(text) + 200 else text, length, False)
