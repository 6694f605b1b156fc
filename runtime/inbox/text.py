"""Text of messages: how it is cleaned before it is stored, and how long it may be."""

from __future__ import annotations

import unicodedata

from core.errors import InvalidError

LONGEST_TEXT = 500_000
_UNSEEN = {"Cc", "Cf", "Zl", "Zp", "Zs"}
_EMPTY_LETTERS = "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"


def clean_text(text: str) -> str:
    """The text as it may be stored: no NUL, no lone surrogate, no blank ends, and nothing where nothing would be seen.

    Raises InvalidError past the limit.
    """
    kept = text.replace("\x00", "").encode("utf-8", "replace").decode().strip()
    if len(kept) > LONGEST_TEXT:
        raise InvalidError(
            f"the text has {len(kept):,} characters and a message holds {LONGEST_TEXT:,}: attach it as a file"
        )
    return kept if any(map(_shows, kept)) else ""


def _shows(char: str) -> bool:
    """Whether a character is seen, or changes what is: not blanks, format marks and letters that are drawn empty."""
    return unicodedata.category(char) not in _UNSEEN and char not in _EMPTY_LETTERS
