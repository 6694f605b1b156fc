"""Folding of a text, so that it compares as a reader sees it, without keyboard and editor differences."""

from __future__ import annotations

import unicodedata
from array import array
from dataclasses import dataclass

_ALIKE = str.maketrans(
    {
        **dict.fromkeys("‘’‚‛", "'"),
        **dict.fromkeys("“”„‟", '"'),
        **dict.fromkeys("\u00a0\u2007\u202f", " "),
    }
)
_BLANKS = " \t\u00a0\u2007\u202f"
_JOINER = "\u200d"


@dataclass(frozen=True)
class Folded:
    """A folded text. Its character `i` comes from `starts[i]:ends[i]` of the original."""

    text: str
    starts: array[int]
    ends: array[int]


def fold(original: str) -> Folded:
    """Fold a text: straight quotes, plain blanks, composed accents, `\\n` for line ends, and no blanks before them."""
    characters: list[str] = []
    starts, ends = array("l"), array("l")
    position = 0
    while position < len(original):
        end = _end_of_character(original, position)
        seen = unicodedata.normalize("NFC", original[position:end]).translate(_ALIKE)
        if seen == "\r\n":
            seen = "\n"
        if seen == "\n":
            while characters and characters[-1] in _BLANKS:
                characters.pop(), starts.pop(), ends.pop()
        for character in seen:
            characters.append(character)
            starts.append(position)
            ends.append(end)
        position = end
    return Folded("".join(characters), starts, ends)


def is_between_characters(text: str, position: int) -> bool:
    """Tell whether a text may be cut at `position`: not between a letter and its accent, nor inside a joined sign."""
    if not 0 < position < len(text):
        return True
    return not (_continues(text[position]) or text[position - 1] == _JOINER)


def _end_of_character(text: str, start: int) -> int:
    if text.startswith("\r\n", start):
        return start + 2
    end = start + 1
    while end < len(text) and (_continues(text[end]) or text[end - 1] == _JOINER):
        end += 1
    return end


def _continues(character: str) -> bool:
    if character < "\u0300":
        return False
    # Combining marks, the joiner, skin tones, and the vowels and finals of decomposed Hangul.
    return (
        unicodedata.category(character).startswith("M")
        or character == _JOINER
        or "\U0001f3fb" <= character <= "\U0001f3ff"
        or "\u1160" <= character <= "\u11ff"
    )
