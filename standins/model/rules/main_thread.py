"""Rules for Main: answer questions in words, after a look where one is needed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any

from standins.model.conversation import Conversation, ModelCall, WorkerInput
from standins.model.reply import ReplyCall, StandinReply
from standins.model.rules.intent import Intent, intent_of
from standins.model.rules.memory_talk import answer_from_memory, is_memory_talk
from standins.model.rules.phrases import phrase
from standins.model.rules.shown_state import ShownState
from standins.model.rules.vocabulary import kinds_named, words

_LENGTH = re.compile(
    r"\b(length|lengths|long|duration|durations|seconds|durée|durées|longueur|longueurs|secondes)\b", re.I
)
_SIZE = re.compile(r"\b(size|sizes|resolution|resolutions|format|formats|dimensions?|taille|tailles)\b", re.IGNORECASE)
_PRICE = re.compile(r"\b(price|prices|cost|costs|much|prix|coûte|coûtent|combien|tarif|tarifs)\b", re.IGNORECASE)
_MODELS = re.compile(r"\b(models?|modèles?|can you (do|make)|able)\b", re.IGNORECASE)
_TASKS = re.compile(r"\b(doing|working|status|tasks?|progress|going on|tâches?|travailles|avancement|en cours)\b", re.I)


def answer_main(conversation: Conversation, state: ShownState, tools: Set[str]) -> StandinReply:
    """Return Main's next decision about the newest message."""
    place, text = _newest(conversation)
    made = [event for event in conversation.events[place + 1 :] if isinstance(event, ModelCall)]
    intent = intent_of(text, first=True)
    if intent is Intent.FORBIDDEN:
        return StandinReply(refusal=phrase(state.language, "decline"))
    if intent is Intent.TALK:
        thanks = {
            "thanks",
            "thank",
            "merci",
            "cheers",
            "great",
            "perfect",
            "parfait",
            "nice",
            "lovely",
            "super",
            "bravo",
        }
        return StandinReply(phrase(state.language, "thanks" if thanks & set(words(text)) else "hello"))
    if is_memory_talk(text) and (said := answer_from_memory(text, made, state.language, tools)) is not None:
        return said
    if _LENGTH.search(text) or _SIZE.search(text) or _PRICE.search(text) or _MODELS.search(text):
        return _after_a_look("list_models", _kind_argument(text), text, made, state, tools)
    if _TASKS.search(text):
        return _after_a_look("list_tasks", {}, text, made, state, tools)
    return answer_from_memory(text, made, state.language, tools) or StandinReply(phrase(state.language, "dont_know"))


def _after_a_look(
    tool: str, arguments: Mapping[str, Any], text: str, made: Sequence[ModelCall], state: ShownState, tools: Set[str]
) -> StandinReply:
    """Answer from the result of a tool, or call the tool first."""
    looked = next((one for one in reversed(made) if one.name == tool), None)
    if looked is None:
        if tool not in tools:
            return StandinReply(phrase(state.language, "cannot", tool=tool))
        return StandinReply(calls=[ReplyCall(tool, arguments)])
    if looked.failed:
        return StandinReply(phrase(state.language, "brought_error", tool=tool, error=looked.result.get("error", "")))
    return StandinReply(_answer_by_rows(tool, text, looked.result, state.language))


def _answer_by_rows(tool: str, text: str, result: object, language: str) -> str:
    rows = list(_rows(result))
    if tool == "list_tasks":
        named = "; ".join(f"{row.get('goal')} ({row.get('status')})" for row in rows)
        return phrase(language, "tasks", tasks=named) if named else phrase(language, "no_tasks")
    kind = _kind_argument(text).get("kind")
    fitting = [row for row in rows if kind is None or row.get("kind") == kind]
    if _LENGTH.search(text):
        lengths = sorted({int(one) for row in fitting for one in row.get("seconds") or row.get("durations") or ()})
        if lengths:
            return phrase(language, "lengths", lengths=", ".join(str(one) for one in lengths))
    if _SIZE.search(text):
        sizes = list(dict.fromkeys(str(one) for row in fitting for one in row.get("sizes") or ()))
        if sizes:
            return phrase(language, "sizes", sizes=", ".join(sizes))
    if _PRICE.search(text) and fitting:
        return phrase(language, "prices", prices="; ".join(_price(row) for row in fitting))
    names = ", ".join(f"{_name(row)} ({row.get('kind')})" for row in fitting)
    return phrase(language, "models", models=names) if names else phrase(language, "dont_know")


def _price(row: Mapping[str, Any]) -> str:
    price = row.get("price")
    if isinstance(price, Mapping):
        return f"{_name(row)}: {price.get('amount')} {price.get('currency')} per {price.get('per')}"
    return f"{_name(row)}: {price}"


def _name(row: Mapping[str, Any]) -> str:
    return str(row.get("model") or row.get("id"))


def _kind_argument(text: str) -> dict[str, str]:
    kinds = [kind for kind in kinds_named(text) if kind != "document"]
    return {"kind": kinds[0]} if kinds else {}


def _rows(result: object) -> Iterator[Mapping[str, Any]]:
    """Yield the rows of a listing: a list, or an object with a list among its members."""
    if isinstance(result, Mapping):
        result = next((value for value in result.values() if isinstance(value, list)), [])
    if isinstance(result, list):
        yield from (row for row in result if isinstance(row, Mapping))


def _newest(conversation: Conversation) -> tuple[int, str]:
    """Return the place and the text of the newest message; -1 and empty if there is none."""
    for place in range(len(conversation.events) - 1, -1, -1):
        event = conversation.events[place]
        if isinstance(event, WorkerInput) and event.kind == "message":
            return place, str(event.facts.get("text") or "")
    return -1, ""
