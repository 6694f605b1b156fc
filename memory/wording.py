"""The words of a fact as they can be kept: one line of text."""

from __future__ import annotations

from core.errors import InvalidError

LONGEST = 500


def clean(text: str) -> str:
    """One line without NUL and lone surrogates; raises InvalidError when nothing is left, or too much.

    A line of its own could pass for something that a card says.
    """
    kept = " ".join(text.replace("\x00", "").encode("utf-8", "replace").decode().split())
    if not 0 < len(kept) <= LONGEST:
        raise InvalidError(f"a fact has 1 to {LONGEST} characters, and this has {len(kept)}")
    return kept
