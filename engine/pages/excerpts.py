"""JSON on a page: made readable, cut where it is long. Whoever wrote it may mean harm; templates escape it."""

import json
from dataclasses import dataclass

from engine.json_text import loads

MOST = 20_000


@dataclass(frozen=True)
class Excerpt:
    """`text` for the page; `whole` is the number of characters of the original, `cut` whether some are missing."""

    text: str
    whole: int
    cut: bool


def excerpt(text: str, whole: int | None = None, most: int = MOST) -> Excerpt:
    """The beginning of a JSON text of `whole` characters, of which `text` may be the first part only."""
    length = len(text) if whole is None else whole
    if length > most or length > len(text):
        return Excerpt(text[:most], length, True)
    return Excerpt(_laid_out(text), length, False)


def _laid_out(text: str) -> str:
    try:
        laid_out = json.dumps(loads(text), ensure_ascii=False, indent=2)
    except (ValueError, RecursionError):
        return text
    # Deep nesting would make a small text huge.
    return laid_out if len(laid_out) <= 4 * len(text) + 200 else text
