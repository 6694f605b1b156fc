"""Titles of works: one line that cannot disguise itself."""

from __future__ import annotations

import re
import unicodedata

from core.errors import InvalidError

LIMIT = 300
# Marks that turn the direction of what follows, so that a name reads as another one.
_TURNING = re.compile("[\u202a-\u202e\u2066-\u2069]")


def clean_title(title: str) -> str:
    """The title on one line without control and direction marks; InvalidError when empty or over 300 characters."""
    line = one_line(title)
    if not line:
        raise InvalidError("the title is empty; give it a name")
    if len(line) > LIMIT:
        raise InvalidError(f"the title has {len(line)} characters; {LIMIT} is the most")
    return line


def fit_title(title: str, otherwise: str) -> str:
    """A title at any price, for what is already made and paid: cut to size, or `otherwise` when nothing is left."""
    return one_line(title)[:LIMIT].strip() or otherwise


def one_line(title: str) -> str:
    """The text without line ends, control characters, halves of characters and direction marks; it may be empty."""
    visible = "".join(" " if unicodedata.category(c) in {"Cc", "Cs", "Zl", "Zp"} else c for c in title)
    return " ".join(_TURNING.sub("", visible).split())
