"""Main's talk about the memory: what is to be remembered, forgotten, or was said before."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from typing import Any

from app.standins.model.conversation import Made
from app.standins.model.reply import Call, Reply
from app.standins.model.rules.phrases import phrase
from app.standins.model.rules.vocabulary import MAKING, content_words, words

_REMEMBER = re.compile(
    r"^\W*(?:please,? )?(?:remember|keep in mind|retiens|souviens-toi)(?: that\b| que\b|:)", re.IGNORECASE
)
_FORGET = re.compile(r"^\W*(?:please,? )?(?:forget|oublie)\b(?!\W+(?:it|ça|cela)\b)\W+\w+", re.IGNORECASE)
_REMEMBERED = re.compile(
    r"\b(do you|tu te|vous) (remember|souviens|souvenez)\b|"
    r"\b(our|my|notre|nos|mon|ma|mes)\b.*\b(colou?rs?|fonts?|typefaces?|logo|style|tone|slogan|motto|brand|couleurs?|"
    r"police|marque|devise)\b",
    re.IGNORECASE,
)


def is_memory_talk(text: str) -> bool:
    """Something is to be kept in mind, or forgotten, and nothing to be made."""
    return bool(_REMEMBER.search(text) or _FORGET.search(text)) and not MAKING & set(words(text))


def answer_from_memory(text: str, made: Sequence[Made], language: str, tools: Set[str]) -> Reply | None:
    """Main's answer where the message is about what is remembered; None where it is about something else."""
    if _REMEMBER.search(text):
        return Reply(phrase(language, "will_remember"))
    forgets = bool(_FORGET.search(text)) and "propose_forget" in tools
    if (not forgets and not _REMEMBERED.search(text)) or "recall" not in tools:
        return None
    looked = next((one for one in made if one.name == "recall"), None)
    if looked is None:
        return Reply(calls=[Call("recall", {"query": text[:400]})])
    rows = _facts(looked.result)
    if not forgets:
        told = "; ".join(str(row.get("text")) for row in rows[:3])
        return Reply(phrase(language, "remembered", facts=told) if told else phrase(language, "dont_know"))
    meant = [row for row in rows if content_words(text) & content_words(str(row.get("text")))]
    if not meant:
        return Reply(phrase(language, "not_remembered"))
    if not any(one.name == "propose_forget" for one in made):
        return Reply(calls=[Call("propose_forget", {"fact_ids": [str(row.get("id")) for row in meant]})])
    return Reply(phrase(language, "asked_to_forget"))


def _facts(result: object) -> list[Mapping[str, Any]]:
    listed = result.get("facts") if isinstance(result, Mapping) else None
    return [row for row in listed if isinstance(row, Mapping)] if isinstance(listed, list) else []
