"""Words of texts and queries, folded so that they are found whatever their case and accents."""

from __future__ import annotations

import re
import unicodedata

_WORD = re.compile(r"\w+")
# Scripts without spaces, where pairs of letters are used instead of words.
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+")
_MAX_WORDS = 24
_MAX_LETTERS = 64
_MAX_CHARACTERS = 2_000
_SHORT = 3


def fold_text(text: str) -> str:
    """Remove case, width and accents from a text, so that `Façade` and `facade` are the same word."""
    decomposed = unicodedata.normalize("NFKD", text).casefold()
    return "".join(letter for letter in decomposed if not unicodedata.combining(letter)).replace("\0", " ")


def query_words(text: str) -> list[str]:
    """Return the distinct folded words of a query; short ones only if there are no others.

    Only the beginning of a long word or a long query counts.
    """
    found: dict[str, None] = {}
    for word in _WORD.findall(fold_text(text[:_MAX_CHARACTERS])):
        pieces = _UNSPACED.sub(" ", word).split()
        for run in _UNSPACED.findall(word):
            pieces += [run[n : n + 2] for n in range(max(1, len(run) - 1))]
        found |= dict.fromkeys(piece[:_MAX_LETTERS] for piece in pieces)
    significant = [word for word in found if len(word) >= _SHORT or not word.isascii() or any(map(str.isdigit, word))]
    return (significant or list(found))[:_MAX_WORDS]
