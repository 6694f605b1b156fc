"""Snippet edits of a text: every edit finds its place, or nothing changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Literal

from workspace import snippets
from workspace.folding import Folded, fold
from workspace.patching import patched
from workspace.snippets import SnippetPlace

TEXT_LIMIT = 1_000_000
SNIPPET_LIMIT = 100_000
PLACES_SHOWN = 10
# A shorter new text occurs in many places, so finding it does not prove that the edit was made already.
_SHORTEST_PROOF = 3


@dataclass(frozen=True)
class TextEdit:
    """Replace `find` with `replace`: in its only place, or with `all` in each of its places."""

    find: str
    replace: str
    all: bool = False


@dataclass(frozen=True)
class EditProblem:
    """Reason why edit number `edit` (from 1) cannot be made; `count` is how often its snippet occurs in the text."""

    edit: int
    reason: Literal["empty", "missing", "already", "ambiguous", "overlap", "size"]
    message: str
    count: int = 0
    places: tuple[SnippetPlace, ...] = ()
    nearest: tuple[SnippetPlace, ...] = ()


@dataclass(frozen=True)
class AppliedEdits:
    """The new text and how many places each edit changed; `alike` names edits matched except for quotes and blanks."""

    text: str
    counts: tuple[int, ...]
    alike: tuple[int, ...]


@dataclass(frozen=True)
class UnchangedText:
    """Nothing to change: the text already is as every edit asks. The notes say why, one for each edit."""

    notes: tuple[str, ...]


@dataclass(frozen=True)
class RefusedEdits:
    """At least one edit cannot be made, so none was made."""

    problems: tuple[EditProblem, ...]


def apply_edits(text: str, edits: Sequence[TextEdit]) -> AppliedEdits | UnchangedText | RefusedEdits:
    """Look up every snippet in the original text, then change all the places together.

    A snippet that does not occur may match where only quote shapes, no-break blanks, blanks at line ends, line ends or
    the composition of accents differ. There the author's own are kept wherever the edit changes nothing.
    """
    source = _Text(text)
    plans = [_plan(source, number, edit) for number, edit in enumerate(edits, start=1)]
    problems = [plan for plan in plans if isinstance(plan, EditProblem)]
    plan_list = [plan for plan in plans if isinstance(plan, _Plan)]
    # Edits that are all made already leave the text as it is. Beside one that changes something, or that fails, an edit
    # made already is a problem like any other.
    if any(plan.changes for plan in plan_list) or any(problem.reason != "already" for problem in problems):
        if problems:
            return RefusedEdits(tuple(problems))
    elif problems:
        return UnchangedText(tuple(plan.message if isinstance(plan, EditProblem) else plan.note for plan in plans))
    changes = sorted((change for plan in plan_list for change in plan.changes), key=lambda change: change.start)
    if clashes := _clashes(text, changes):
        return RefusedEdits(tuple(clashes))
    if len(text) + sum(len(c.text) - (c.end - c.start) for c in changes) > TEXT_LIMIT:
        return RefusedEdits((EditProblem(1, "size", f"the text would have more than {TEXT_LIMIT} characters"),))
    result = _apply_changes(text, changes)
    if result == text:
        return UnchangedText(tuple(plan.note for plan in plan_list))
    return AppliedEdits(
        result,
        tuple(len(plan.changes) for plan in plan_list),
        tuple(plan.edit for plan in plan_list if plan.alike),
    )


@dataclass(frozen=True)
class _Change:
    edit: int
    start: int
    end: int
    text: str


@dataclass(frozen=True)
class _Plan:
    edit: int
    changes: tuple[_Change, ...] = ()
    note: str = ""
    alike: bool = False


class _Text:
    """A text with the forms of it that are needed more than once."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.windows_lines = "\r\n" in text and text.count("\n") == text.count("\r\n")

    @cached_property
    def folded(self) -> Folded:
        return fold(self.text)


@dataclass(frozen=True)
class _Found:
    """Spans of a snippet in `text`, which is the folded text when the snippet matches only there."""

    text: str
    spans: list[tuple[int, int]]
    folded: Folded | None

    @property
    def alike(self) -> bool:
        return self.folded is not None

    def original(self, span: tuple[int, int]) -> tuple[int, int]:
        if self.folded is None:
            return span
        return self.folded.starts[span[0]], self.folded.ends[span[1] - 1]


def _plan(source: _Text, number: int, edit: TextEdit) -> _Plan | EditProblem:
    if not edit.find:
        return EditProblem(number, "empty", "the snippet to find is empty; quote the text that the new text replaces")
    if max(len(edit.find), len(edit.replace)) > SNIPPET_LIMIT:
        return EditProblem(number, "size", f"a snippet has at most {SNIPPET_LIMIT} characters; quote less")
    if edit.find == edit.replace:
        return _Plan(number, note="nothing changed: the new text is the same as the old")
    found = _find(source, edit.find)
    if not found.spans:
        return _missing(source, number, edit)
    if len(found.spans) > 1 and not edit.all:
        return _ambiguous(source.text, number, [found.original(span)[0] for span in found.spans])
    find, replace = (fold(edit.find).text, fold(edit.replace).text) if found.alike else (edit.find, edit.replace)
    changes = [
        _change(source, number, found, span, edit.replace)
        for span in snippets.places_apart(found.spans)
        if not _is_done_at(found.text, span[0], find, replace)
    ]
    changes = [change for change in changes if change.text != source.text[change.start : change.end]]
    note = "nothing changed: the new text stands there already"
    return _Plan(number, tuple(changes), note, found.alike)


def _find(source: _Text, snippet: str) -> _Found:
    """Find a snippet exactly, or else in the folded text."""
    if spans := snippets.exact_places(source.text, snippet):
        return _Found(source.text, spans, None)
    return _Found(source.folded.text, snippets.alike_places(source.folded, snippet), source.folded)


def _change(source: _Text, number: int, found: _Found, span: tuple[int, int], replace: str) -> _Change:
    start, end = found.original(span)
    new = replace if found.folded is None else patched(source.text, found.folded, span, replace)
    return _Change(number, start, end, _match_line_ends(source, new))


def _match_line_ends(source: _Text, new: str) -> str:
    return new.replace("\r\n", "\n").replace("\n", "\r\n") if source.windows_lines else new


def _is_done_at(text: str, start: int, find: str, replace: str) -> bool:
    """Tell whether the snippet at `start` is part of the new text already, when the new text contains the old one."""
    at = replace.find(find)
    while at >= 0:
        if start >= at and text.startswith(replace, start - at):
            return True
        at = replace.find(find, at + 1)
    return False


def _missing(source: _Text, number: int, edit: TextEdit) -> EditProblem:
    already = _find(source, edit.replace) if len(edit.replace.strip()) >= _SHORTEST_PROOF else None
    if already and already.spans:
        starts = [already.original(span)[0] for span in already.spans[:PLACES_SHOWN]]
        places = tuple(snippets.place_at(source.text, start) for start in starts)
        message = f"nothing changed: the snippet is not there, and its new text is, in line {places[0].line}"
        return EditProblem(number, "already", message, places=places)
    near = tuple(snippets.nearest_places(source.text, edit.find))
    hint = f"; the nearest is line {near[0].line}: {near[0].text}" if near else "; read the document again"
    return EditProblem(number, "missing", f"the snippet of edit {number} is not in the text{hint}", nearest=near)


def _ambiguous(text: str, number: int, starts: list[int]) -> EditProblem:
    places = tuple(snippets.place_at(text, start) for start in starts[:PLACES_SHOWN])
    lines = ", ".join(str(place.line) for place in places)
    message = (
        f"the snippet of edit {number} stands in the text {len(starts)} times (lines {lines}); "
        "quote more of what is around the one you mean, or say `all`"
    )
    return EditProblem(number, "ambiguous", message, count=len(starts), places=places)


def _clashes(text: str, changes: Sequence[_Change]) -> list[EditProblem]:
    return [
        EditProblem(
            later.edit,
            "overlap",
            f"edits {earlier.edit} and {later.edit} change the same text; make one edit of them",
            places=(snippets.place_at(text, later.start),),
        )
        for earlier, later in pairwise(changes)
        if later.start < earlier.end
    ]


def _apply_changes(text: str, changes: Sequence[_Change]) -> str:
    pieces, position = [], 0
    for change in changes:
        pieces += [text[position : change.start], change.text]
        position = change.end
    return "".join([*pieces, text[position:]])
