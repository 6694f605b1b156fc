"""Fold texts and split queries into words, so that words are found whatever their case and accents."""

from __future__ import annotations

import re
import unicodedata

_WORD = re.compile(r"\w+")
# Scripts that write without spaces: a word is a piece of a run, so that pairs of letters stand in for it.
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+")
_MOST_WORDS = 24
_MOST_LETTERS = 64
_MOST_CHARACTERS = 2_000
_SHORT = 3


def fold_text(text: str) -> str:
    """One case, one width, and letters without their marks: `Façade` and `facade` are one word."""
    apart = unicodedata.normalize("NFKD", text).casefold()
    return "".join(letter for letter in apart if not unicodedata.combining(letter)).replace("\0", " ")


def query_words(text: str) -> list[str]:
    """The words to look for, folded, each once; short ones only where there is no other.

    Of a long word, and of a long text, only the beginning counts.
    """
    found: dict[str, None] = {}
    for word in _WORD.findall(fold_text(text[:_MOST_CHARACTERS])):
        pieces = _UNSPACED.sub(" ", word).split()
        for run in _UNSPACED.findall(word):
            pieces += [run[n : n + 2] for n in range(max(1, len(run) - 1))]
        found |= dict.fromkeys(piece[:_MOST_LETTERS] for piece in pieces)
    telling = [word for word in found if len(word) >= _SHORT or not word.isascii() or any(map(str.isdigit, word))]
    return (telling or list(found))[:_MOST_WORDS]
