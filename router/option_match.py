"""Match a person's words with an option of a question, where that needs no judgement."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from router.words import find_keywords

NEW_TASK = "new"
_PLACES = {
    word: place
    for place, words in enumerate(
        (
            "first 1st one premier première erste ersten erster primero primera",
            "second 2nd two deuxième seconde zweite zweiten zweiter segundo segunda",
            "third 3rd three troisième dritte dritten dritter tercero tercera",
            "fourth 4th four quatrième vierte vierten vierter cuarto cuarta",
            "fifth 5th five cinquième fünfte fünften fünfter quinto quinta",
        )
    )
    for word in words.split()
}
_OTHERS = """
    last: last latter dernier dernière letzte letzten letzter último última
    new: new nouveau nouvelle neu neue neues nuevo nueva
    filling: the this that one to option number no nr please a an something it its ones le la les celui celle un une
    filling: quelque chose de die der das den bitte etwas el lo por favor algo
"""


def _words_of_kind(kind: str) -> frozenset[str]:
    lines = [line.split(":") for line in _OTHERS.strip().splitlines()]
    return frozenset(word for name, words in lines if name.strip() == kind for word in words.split())


_LAST, _NEW, _FILLING = _words_of_kind("last"), _words_of_kind("new"), _words_of_kind("filling")
_WORD = re.compile(r"[^\W_]+", re.UNICODE)


def option_named_by(options: Sequence[Mapping[str, Any]], text: str) -> str | None:
    """Return the id of the option that the words name by label, id or place, or as the new one; else None."""
    wanted = _normalise(text)
    if not wanted:
        return None
    exact = [str(one["id"]) for one in options if wanted in (_normalise(str(one["label"])), _normalise(str(one["id"])))]
    return exact[0] if len(exact) == 1 else _find_by_place(options, wanted.split())


def option_described_by(options: Sequence[Mapping[str, Any]], text: str) -> str | None:
    """Return the option that `option_named_by` finds, else the only one whose label has every keyword of the text."""
    found = option_named_by(options, text)
    keywords = set(find_keywords(text)) - _FILLING
    if found is not None or not keywords:
        return found
    fits = [str(one["id"]) for one in options if keywords <= set(find_keywords(str(one["label"])))]
    return fits[0] if len(fits) == 1 else None


def _find_by_place(options: Sequence[Mapping[str, Any]], words: Sequence[str]) -> str | None:
    # Some words are both filling and a place, such as `one`. They count as a place only where no other word is left.
    named = [word for word in words if word not in _FILLING] or [word for word in words if word in _PLACES]
    if len(named) != 1:
        return None
    word, ids = named[0], [str(one["id"]) for one in options]
    if word in _NEW:
        return NEW_TASK if NEW_TASK in ids else None
    # A word such as `second` counts the tasks only: the option to begin something new comes after them and has its own
    # words. A number counts every option.
    task_ids = [one for one in ids if one != NEW_TASK]
    place = int(word) - 1 if word.isascii() and word.isdigit() and len(word) < 3 else _PLACES.get(word)
    if word in _LAST and task_ids:
        return task_ids[-1]
    if place is None or not 0 <= place < len(ids):
        return None
    return ids[place] if word.isdigit() else task_ids[place] if place < len(task_ids) else None


def _normalise(text: str) -> str:
    return " ".join(_WORD.findall(text.casefold()))
