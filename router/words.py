"""Keywords of texts in any language, and their comparison."""

from __future__ import annotations

import re

_WORD = re.compile(r"[^\W_]+", re.UNICODE)
# Scripts without spaces between words: every two neighbouring characters count as a word.
_UNSPACED = re.compile(r"[぀-ヿ㐀-鿿豈-﫿฀-๿]+")
_COMMON = """
    the and for with from that this these those its it's our your you are was were can could would will
    please make create also too more some into onto about have has had not but les des une pour avec dans sur
    que qui est der die das und mit für ein eine los las una por con para que
"""
# Longer words are addresses, hashes and held-down keys; a database rejects overlong search words.
_LONGEST_WORD = 60
_COMMON_WORDS = frozenset(_COMMON.split())


def find_keywords(text: str, most: int = 200) -> list[str]:
    """Return the keywords of a text in order, in lower case, each once; very long ones are cut."""
    found: dict[str, None] = {}
    for word in _WORD.findall(text.lower()):
        unspaced = _UNSPACED.search(word)
        if unspaced:
            run = unspaced.group()
            pieces = [run[at : at + 2] for at in range(len(run) - 1)] or [run]
        else:
            pieces = [word[:_LONGEST_WORD]] if len(word) > 2 and word not in _COMMON_WORDS else []
        for piece in pieces:
            found[piece] = None
        if len(found) >= most:
            break
    return list(found)[:most]


def word_overlap(one: str, other: str) -> float:
    """Return the share of keywords that two texts have in common, between 0 and 1."""
    first, second = set(find_keywords(one)), set(find_keywords(other))
    return len(first & second) / len(first | second) if first and second else 0.0
