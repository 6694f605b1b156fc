"""Rule for the verdict `memory_candidates`: lasting facts that a person states about themselves and their brand."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from standins.model.rules.vocabulary import words

_SENTENCE = re.compile(r"[^.!?;\n]+[.!?;\n]?")
_ONCE = re.compile(
    r"\b(this time|this once|just once|for now|today|for th(is|ese|ose) \w+|on th(is|ese) \w+|cette fois|"
    r"pour (cette|ce|cet|ces) \w+|aujourd'hui)\b",
    re.IGNORECASE,
)
_ASKED = re.compile(
    r"^\W*(?:and |also |oh,? )*(?:please,? )?(?:remember|keep in mind|note|don't forget|do not forget|souviens-toi|"
    r"retiens|n'oublie pas)(?: that| this|,? que)?[:,]?\s+(?P<what>.{3,})$",
    re.IGNORECASE,
)
_THIS_WORK = r"(?! (?:it|this|that|these|those|them|the|one|ça|ce|ces|cette|le|la|les)\b)"
_HABIT = re.compile(
    rf"\b(?:we|i|nous|je)\b (?:\w+ )?(?:(?:always|never|toujours|jamais)\b|"
    rf"(?:prefer|like|love|hate|dislike|préfère|préférons|aime|aimons)\b{_THIS_WORK}).{{3,}}",
    re.IGNORECASE,
)
_KINDS = (
    r"(?:colou?rs?|fonts?|typefaces?|logos?|names?|styles?|tones?|slogans?|mottos?|rules?|audience|palette|"
    r"couleurs?|polices?|noms?|ton|devise|règle)"
)
_IS = r"(?:is|are|will be|est|sont)"
_BRAND = re.compile(
    rf"\b(?:our|my|notre|nos|mon|ma|mes)\b (?:[\w-]+ ){{0,3}}?{_KINDS}(?: [\w-]+){{0,3}}? {_IS} .{{2,}}", re.IGNORECASE
)
_SHARED = re.compile(r"\b(we|our|us|brand|notre|nos|nous|marque)\b", re.IGNORECASE)
_COPULA = re.compile(rf"^(?P<what>.+?) {_IS} (?P<value>.+)$", re.IGNORECASE)
_FILLING_WORDS = "the a an our my we i is are and of for in to that always now notre nos mon ma mes le la les"
_FILLING = frozenset(_FILLING_WORDS.split())
_SAME = 0.8
_ALIKE = 0.6


def memory_candidates(told: Mapping[str, Any]) -> dict[str, Any]:
    """Return a candidate for each sentence that asks to be remembered, names a habit, or says what the brand has."""
    known = [(int(row["n"]), str(row["text"])) for row in _rows(told, "remembered")]
    found = []
    for message in _rows(told, "messages"):
        for statement in _statements(str(message.get("text") or "")):
            about, relation = _relate(statement, known)
            found.append(
                {
                    "text": statement,
                    "evidence": [int(message["n"])],
                    "standing": "stated",
                    "scope": "workspace" if _SHARED.search(statement) else "person",
                    "temporary": False,
                    "relation": relation,
                    "about": about,
                    "valid_from": None,
                }
            )
    return {"candidates": found}


def _statements(text: str) -> Iterator[str]:
    for sentence in _SENTENCE.findall(text):
        said = sentence.strip()
        if said.endswith("?") or _ONCE.search(said):
            continue
        asked = _ASKED.match(said)
        named = next((match.group() for match in (_HABIT.search(said), _BRAND.search(said)) if match), "")
        statement = (asked["what"] if asked else named).strip(" .!;:\n")
        if statement:
            yield statement[:1].upper() + statement[1:500]


def _relate(statement: str, known: Sequence[tuple[int, str]]) -> tuple[int | None, str]:
    """Return the number of the remembered fact that a statement is about, and how the two relate.

    Common words are compared first: they prove more than a common subject.
    """
    mine = _meaningful_words(statement)
    for n, text in known:
        theirs = _meaningful_words(text)
        if _share(mine, theirs) >= _SAME:
            return n, "same"
        if theirs and theirs < mine:
            return n, "refines"
    mine_is = _COPULA.match(statement)
    for n, text in known:
        theirs_is = _COPULA.match(text)
        if (
            mine_is
            and theirs_is
            and _share(_meaningful_words(mine_is["what"]), _meaningful_words(theirs_is["what"])) >= _ALIKE
        ):
            return n, "contradicts"
    return None, "new"


def _meaningful_words(text: str) -> set[str]:
    return set(words(text)) - _FILLING


def _share(one: set[str], other: set[str]) -> float:
    return len(one & other) / len(one | other) if one and other else 0.0


def _rows(told: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    rows = told.get(name)
    listed = rows if isinstance(rows, list) else []
    return [row for row in listed if isinstance(row, Mapping) and isinstance(row.get("n"), int)]
