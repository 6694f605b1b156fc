"""Words on the pages for states and amounts."""

from __future__ import annotations

import json
from typing import Any

__all__ = ["as_json", "beginning", "filesize", "percent", "said"]

LONGEST_SHOWN = 4_000
LONGEST_REPLY = 20_000

_SAID = {
    "active": "working",
    "waiting": "waiting",
    "outcome_unknown": "unknown",
    "ordered": "ordered",
    "submitting": "ordering",
    "model3d": "3D model",
    "unresolved": "unclear",
}


def said(state: str) -> str:
    """A state or kind as people say it."""
    return _SAID.get(state, state.replace("_", " "))


def beginning(text: str, author: str = "user") -> str:
    """As much of a long text as a page shows; all of one that is not. Replies are shaped, and read to their end."""
    most = LONGEST_SHOWN if author == "user" else LONGEST_REPLY
    return text if len(text) <= most else f"{text[:most]}…"


def filesize(size: int) -> str:
    """`640 B`, `12 kB`, `3.4 MB`."""
    if size < 1000:
        return f"{size} B"
    if size < 1_000_000:
        return f"{size / 1000:.0f} kB"
    return f"{size / 1_000_000:.1f} MB"


def percent(part: float) -> int:
    return round(100 * min(max(part, 0.0), 1.0))


def as_json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False, default=str)
