"""Text on a page: durations, sizes and kinds in words; JSON made readable and cut where it is long.

The author of that JSON may mean harm; templates escape it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

from engine.formats.json_text import Json, loads

STATUSES = ("QUEUED", "RUNNING", "COMPLETED", "FAILED", "CANCELLED")

_KINDS = {
    "Sleep": "sleep",
    "WaitForEvent": "wait for event",
    "InvokeFunction": "invoke",
    "AIGateway": "AI inference",
}


def format_duration(ms: int) -> str:
    """`850 ms`, `3.2 s`, `2 min 5 s`, `3 h 4 min`, `2 d 3 h`."""
    if ms < 1000:
        return f"{max(ms, 0)} ms"
    if ms < 60_000:
        return f"{ms / 1000:.3g} s" if ms < 59_950 else "1 min"
    for unit, name, part, part_name in (
        (86_400_000, "d", 3_600_000, "h"),
        (3_600_000, "h", 60_000, "min"),
        (60_000, "min", 1000, "s"),
    ):
        if ms >= unit:
            whole, rest = divmod(ms, unit)
            return f"{whole} {name}" + (f" {rest // part} {part_name}" if rest >= part else "")
    raise AssertionError(ms)


def format_size(characters: int) -> str:
    """A length of text, roughly in bytes."""
    if characters < 1024:
        return f"{characters} B"
    return f"{characters / 1024:.3g} KiB" if characters < 1024 * 1024 else f"{characters / 1024 / 1024:.3g} MiB"


def name_step_kind(op: str) -> str:
    """What a step does."""
    return _KINDS.get(op, "run")


EXCERPT_LENGTH = 20_000


@dataclass(frozen=True)
class Excerpt:
    """`text` for the page; `whole` is the number of characters of the original, `cut` whether some are missing."""

    text: str
    whole: int
    cut: bool


def lay_out(value: Json) -> str:
    """JSON over several lines."""
    return json.dumps(value, ensure_ascii=False, indent=2)


def lay_out_error(value: Json) -> str:
    """What an error says, with its stack as a programmer knows it."""
    if not isinstance(value, dict) or not isinstance(value.get("message"), str):
        return lay_out(value)
    said, stack = f"{value.get('name') or 'Error'}: {value['message']}", value.get("stack")
    return f"{said}\n\n{stack.rstrip()}" if isinstance(stack, str) and stack.strip() else said


def lay_out_memo(value: Json) -> str:
    """What a step returned, or the error it ended with."""
    match value:
        case {"data": data} if len(value) == 1:
            return lay_out(data)
        case {"error": error} if len(value) == 1:
            return lay_out_error(error)
        case _:
            return lay_out(value)


def make_excerpt(
    text: str, whole: int | None = None, most: int = EXCERPT_LENGTH, layout: Callable[[Json], str] = lay_out
) -> Excerpt:
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
