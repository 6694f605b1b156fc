"""Normalise the text of a fact: one line without control characters."""

from __future__ import annotations

from core.errors import InvalidError

LONGEST_FACT = 500


def clean_fact_text(text: str) -> str:
    """Return one line without NUL and lone surrogates; raises InvalidError when it is empty or too long.

    A second line could pass for part of a card.
    """
    kept = " ".join(text.replace("\x00", "").encode("utf-8", "replace").decode().split())
    if not 0 < len(kept) <= LONGEST_FACT:
        raise InvalidError(f"a fact has 1 to {LONGEST_FACT} characters, and this has {len(kept)}")
    return kept
