"""Rules for talk about the memory: what to remember, what to forget, what was said before."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from typing import Any

from standins.model.conversation import ModelCall
from standins.model.reply import ReplyCall, StandinReply
from standins.model.rules.phrases import phrase
from standins.model.rules.vocabulary import MAKING, content_words, words

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
    """Whether a text asks to remember or forget something, and to make nothing."""
    return bool(_REMEMBER.search(text) or _FORGET.search(text)) and not MAKING & set(words(text))


def answer_from_memory(text: str, made: Sequence[ModelCall], language: str, tools: Set[str]) -> StandinReply | None:
    """Return Main's answer to a message about the memory; None if it is about something else."""
    if _REMEMBER.search(text):
        return StandinReply(phrase(language, "will_remember"))
    forgets = bool(_FORGET.search(text)) and "propose_forget" in tools
    if (not forgets and not _REMEMBERED.search(text)) or "recall" not in tools:
        return None
    looked = next((one for one in made if one.name == "recall"), None)
    if looked is None:
        return StandinReply(calls=[ReplyCall("recall", {"query": text[:400]})])
    rows = _facts(looked.result)
    if not forgets:
        told = "; ".join(str(row.get("text")) for row in rows[:3])
        return StandinReply(phrase(language, "remembered", facts=told) if told else phrase(language, "dont_know"))
    meant = [row for row in rows if content_words(text) & content_words(str(row.get("text")))]
    if not meant:
        return StandinReply(phrase(language, "not_remembered"))
    if not any(one.name == "propose_forget" for one in made):
        return StandinReply(calls=[ReplyCall("propose_forget", {"fact_ids": [str(row.get("id")) for row in meant]})])
    return StandinReply(phrase(language, "asked_to_forget"))


def _facts(result: object) -> list[Mapping[str, Any]]:
    listed = result.get("facts") if isinstance(result, Mapping) else None
    return [row for row in listed if isinstance(row, Mapping)] if isinstance(listed, list) else []
