"""Snippets: find one in a text, and the nearest places when it is not there."""

from __future__ import annotations

import difflib
from collections import Counter
from dataclasses import dataclass

from workspace.folding import Folded, fold, is_between_characters

_EXCERPT = 160
_NEAREST = 3
_LINES_LOOKED_AT = 20_000
_OVERLAPS_LOOKED_AT = 1_000


@dataclass(frozen=True)
class SnippetPlace:
    """A place in a text, counted from 1, with its line, cut to 160 characters."""

    line: int
    column: int
    text: str


def exact_places(text: str, snippet: str) -> list[tuple[int, int]]:
    """Return every place where the snippet occurs as whole characters, overlapping ones included."""
    spans = []
    at = text.find(snippet)
    while at >= 0:
        end = at + len(snippet)
        if is_between_characters(text, at) and is_between_characters(text, end):
            spans.append((at, end))
        at = text.find(snippet, _next(at, end, spans))
    return spans


def alike_places(text: Folded, snippet: str) -> list[tuple[int, int]]:
    """Return every place in the folded text, as spans of folded characters."""
    wanted = fold(snippet).text
    spans: list[tuple[int, int]] = []
    if not wanted.strip():
        return spans
    at = text.text.find(wanted)
    while at >= 0:
        end = at + len(wanted)
        if _may_split_at(text, at) and _may_split_at(text, end):
            spans.append((at, end))
        at = text.text.find(wanted, _next(at, end, spans))
    return spans


def places_apart(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the spans, from the first on, that do not overlap the one before."""
    kept: list[tuple[int, int]] = []
    for span in spans:
        if not kept or span[0] >= kept[-1][1]:
            kept.append(span)
    return kept


def place_at(text: str, position: int) -> SnippetPlace:
    line_start = text.rfind("\n", 0, position) + 1
    line_end = text.find("\n", position)
    line = text[line_start : len(text) if line_end < 0 else line_end]
    column = position - line_start
    cut = max(0, min(column - _EXCERPT // 2, len(line) - _EXCERPT))
    return SnippetPlace(text.count("\n", 0, position) + 1, column + 1, line[cut : cut + _EXCERPT].strip())


def nearest_places(text: str, snippet: str) -> list[SnippetPlace]:
    """Return the lines most like the snippet's first distinctive line, best first; none when nothing is like it."""
    wanted = next((line.strip() for line in snippet.splitlines() if len(line.strip()) > 3), snippet.strip())
    wanted = wanted[: _EXCERPT * 2]
    words = Counter(fold(wanted).text.lower().split())
    lines = list(enumerate(text.splitlines()[:_LINES_LOOKED_AT], start=1))
    # Only what shares most words is compared letter by letter, which is slow.
    by_words = sorted(lines, key=lambda line: -sum((Counter(line[1].lower().split()) & words).values()))
    scored = []
    for number, line in by_words[:40]:
        start = _best_start(line, wanted)
        excerpt = line[start : start + _EXCERPT * 2]
        score = difflib.SequenceMatcher(None, wanted.lower(), excerpt.lower(), autojunk=False).ratio()
        if score > 0.4:
            scored.append((-score, number, SnippetPlace(number, start + 1, excerpt[:_EXCERPT].strip())))
    return [found for _, _, found in sorted(scored, key=lambda entry: entry[:2])[:_NEAREST]]


def _next(at: int, end: int, spans: list[tuple[int, int]]) -> int:
    # A long snippet of one repeated letter overlaps itself everywhere; to count those places would take minutes.
    return at + 1 if len(spans) < _OVERLAPS_LOOKED_AT else end


def _may_split_at(text: Folded, position: int) -> bool:
    """Tell whether the folded characters beside `position` come from different characters of the original."""
    if not 0 < position < len(text.starts):
        return True
    return text.starts[position] >= text.ends[position - 1]


def _best_start(line: str, wanted: str) -> int:
    """Find where in a long line the wanted text may begin: at its first longer word that the line contains."""
    if len(line) <= _EXCERPT * 2:
        return 0
    for word in wanted.split():
        at = line.find(word)
        if len(word) > 3 and at >= 0:
            return max(0, at - wanted.find(word))
    return 0
