"""Text on a page: durations, sizes and kinds of steps in words, and readable excerpts of JSON.

The JSON may come from an attacker; templates escape it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

from engine.formats.json_text import Json, loads

EXCERPT_LENGTH = 20_000

_KINDS = {
    "Sleep": "sleep",
    "WaitForEvent": "wait for event",
    "InvokeFunction": "invoke",
    "AIGateway": "AI inference",
}


def format_duration(ms: int) -> str:
    """Write a duration as `850 ms`, `3.2 s`, `2 min 5 s`, `3 h 4 min` or `2 d 3 h`."""
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
    """Write a length of text as bytes, taking a character for a byte."""
    if characters < 1024:
        return f"{characters} B"
    return f"{characters / 1024:.3g} KiB" if characters < 1024 * 1024 else f"{characters / 1024 / 1024:.3g} MiB"


def name_step_kind(op: str) -> str:
    """Name the kind of a step by its opcode."""
    return _KINDS.get(op, "run")


@dataclass(frozen=True)
class Excerpt:
    """Text for a page; `whole` is the length of the original in characters, `cut` says whether some are left out."""

    text: str
    whole: int
    cut: bool


def lay_out(value: Json) -> str:
    """Write JSON over several lines."""
    return json.dumps(value, ensure_ascii=False, indent=2)


def lay_out_error(value: Json) -> str:
    """Write an error as its name, message and stack."""
    if not isinstance(value, dict) or not isinstance(value.get("message"), str):
        return lay_out(value)
    text, stack = f"{value.get('name') or 'Error'}: {value['message']}", value.get("stack")
    return f"{text}\n\n{stack.rstrip()}" if isinstance(stack, str) and stack.strip() else text


def lay_out_memo(value: Json) -> str:
    """Write the output or the error that a memo contains."""
    match value:
        case {"data": data} if len(value) == 1:
            return lay_out(data)
        case {"error": error} if len(value) == 1:
            return lay_out_error(error)
        case _:
            return lay_out(value)


def make_excerpt(
    text: str, whole: int | None = None, limit: int = EXCERPT_LENGTH, layout: Callable[[Json], str] = lay_out
) -> Excerpt:
    """Make an excerpt of at most `limit` characters; `text` may be only the beginning of `whole` characters."""
    length = len(text) if whole is None else whole
    if length > limit or length > len(text):
        return Excerpt(text[:limit], length, True)
    try:
        shown = layout(loads(text))
    except (ValueError, RecursionError):
        shown = text
    # Laying out deeply nested JSON would make a small text huge.
    return Excerpt(shown if len(shown) <= 4 * len(text) + 200 else text, length, False)
