"""Find and compare the keywords of texts; no language is preferred."""

from __future__ import annotations

import re

_WORD = re.compile(r"[^\W_]+", re.UNICODE)
# Scripts without spaces between words: two characters at a time stand for words.
_UNSPACED = re.compile(r"[぀-ヿ㐀-鿿豈-﫿฀-๿]+")
_COMMON = """
    the and for with from that this these those its it's our your you are was were can could would will
    please make create also too more some into onto about have has had not but les des une pour avec dans sur
    que qui est der die das und mit für ein eine los las una por con para que
"""
# Longer ones are addresses, hashes and held-down keys; a database refuses to look for words without end.
_LONGEST = 60
_NOT_TELLING = frozenset(_COMMON.split())


def find_keywords(text: str, most: int = 200) -> list[str]:
    """The telling words of a text in order, lower-case, each once; of a very long one its beginning."""
    found: dict[str, None] = {}
    for word in _WORD.findall(text.lower()):
        unspaced = _UNSPACED.search(word)
        if unspaced:
            run = unspaced.group()
            pieces = [run[at : at + 2] for at in range(len(run) - 1)] or [run]
        else:
            pieces = [word[:_LONGEST]] if len(word) > 2 and word not in _NOT_TELLING else []
        for piece in pieces:
            found[piece] = None
        if len(found) >= most:
            break
    return list(found)[:most]


def word_overlap(one: str, other: str) -> float:
    """The share of telling words that two texts have in common, between 0 and 1."""
    mine, theirs = set(find_keywords(one)), set(find_keywords(other))
    return len(mine & theirs) / len(mine | theirs) if mine and theirs else 0.0
