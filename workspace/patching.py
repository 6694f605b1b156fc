"""Patches of text that matched only when folded; the author's spelling is kept in what does not change."""

from __future__ import annotations

import difflib
from itertools import accumulate

from workspace.folding import Folded, fold

_MOST_COMPARISONS = 4_000_000


def patched(original: str, folded: Folded, span: tuple[int, int], replace: str) -> str:
    """Return the replacement for the folded `span`.

    It is `replace`, with the original's quotes, accents and blanks wherever both read the same.
    """
    start, end = span
    new = fold(replace)
    pieces = []
    changes = _changes(_words(folded, start, end), _words(new, 0, len(new.text)))
    for n, (same, old_from, old_to, new_from, new_to) in enumerate(changes):
        first, last = start + old_from, start + old_to
        if same:
            pieces.append(original[folded.starts[first] : folded.ends[last - 1]])
        elif new_to > new_from:
            pieces.append(replace[new.starts[new_from] : new.ends[new_to - 1]])
        if last > start and n + 1 < len(changes) and changes[n + 1][0]:
            # Folding dropped the blanks before a line end. They are kept with a line end that is kept.
            pieces.append(original[folded.ends[last - 1] : folded.starts[last]])
    return "".join(pieces)


def _words(folded: Folded, start: int, end: int) -> list[str]:
    """Split the folded text into words, blanks and signs; a letter keeps the marks that it has in the original."""
    words: list[str] = []
    in_word = False
    for at in range(start, end):
        character = folded.text[at]
        is_mark = at > start and folded.starts[at] == folded.starts[at - 1]
        continues_word = in_word and (character.isalnum() or character == "_")
        if is_mark or continues_word:
            words[-1] += character
        else:
            words.append(character)
            in_word = character.isalnum() or character == "_"
    return words


def _changes(olds: list[str], news: list[str]) -> list[tuple[bool, int, int, int, int]]:
    """Return stretches `(same, old from, old to, new from, new to)` in order, by words, in characters."""
    head = _common(olds, news)
    tail = _common(olds[head:][::-1], news[head:][::-1])
    old_end, new_end = len(olds) - tail, len(news) - tail
    # Too many words to compare are replaced as one stretch.
    middle = [("replace", head, old_end, head, new_end)]
    if (old_end - head) * (new_end - head) <= _MOST_COMPARISONS:
        matcher = difflib.SequenceMatcher(None, olds[head:old_end], news[head:new_end], autojunk=False)
        middle = [(tag, head + a, head + b, head + c, head + d) for tag, a, b, c, d in matcher.get_opcodes()]
    stretches = [
        ("equal", 0, head, 0, head),
        *middle,
        ("equal", old_end, len(olds), new_end, len(news)),
    ]
    old_at = [0, *accumulate(map(len, olds))]
    new_at = [0, *accumulate(map(len, news))]
    return [
        (tag == "equal", old_at[a], old_at[b], new_at[c], new_at[d]) for tag, a, b, c, d in stretches if b > a or d > c
    ]


def _common(left: list[str], right: list[str]) -> int:
    count = 0
    for one, other in zip(left, right, strict=False):
        if one != other:
            break
        count += 1
    return count
