"""How much an entry has in common with a query: by meaning, by words, and both together."""

from __future__ import annotations

import re
from collections.abc import Sequence

_WORD = re.compile(r"\w+")
_INSIDE = 0.6
"""What a word counts that stands only inside a longer one."""
_WORDS_ALONE = 0.9
"""What all the words of a query count without any likeness of meaning."""


def share(words: Sequence[str], folded: str) -> float:
    """How much of a query's words stands in a folded text, between 0 and 1; long ones, which are rarer, count more."""
    if not words:
        return 0.0
    whole = set(_WORD.findall(folded))
    found = sum(
        len(word) * (1.0 if word in whole or not word.isascii() else _INSIDE) for word in words if word in folded
    )
    return found / sum(map(len, words))


def score(cosine: float | None, unlike: float, words: float) -> float:
    """Between 0 and 1: either kind of likeness is enough, both together are more. `unlike` is what counts as none."""
    meaning = 0.0 if cosine is None else min(1.0, max(0.0, (cosine - unlike) / (1.0 - unlike)))
    # Squared: of a long question a "the" stands in any text.
    return 1.0 - (1.0 - meaning) * (1.0 - _WORDS_ALONE * words**2)
