"""Titles of works: one line that cannot disguise itself."""

from __future__ import annotations

import re
import unicodedata

from core.errors import InvalidError

LIMIT = 300
# Marks that change the direction of the text after them, so that a name can pass for another.
_TURNING = re.compile("[\u202a-\u202e\u2066-\u2069]")


def clean_title(title: str) -> str:
    """Return the title on one line without control and direction marks.

    Raises InvalidError when it is empty or has over 300 characters.
    """
    line = one_line(title)
    if not line:
        raise InvalidError("the title is empty; give it a name")
    if len(line) > LIMIT:
        raise InvalidError(f"the title has {len(line)} characters; {LIMIT} is the most")
    return line


def fit_title(title: str, otherwise: str) -> str:
    """Return a valid title for a work that is already paid: cut to size, or `otherwise` when nothing is left."""
    return one_line(title)[:LIMIT].strip() or otherwise


def one_line(title: str) -> str:
    """Return the text without line ends, control characters, lone surrogates and direction marks; it may be empty."""
    visible = "".join(" " if unicodedata.category(c) in {"Cc", "Cs", "Zl", "Zp"} else c for c in title)
    return " ".join(_TURNING.sub("", visible).split())
