"""Language of a person's words, and the router's sentences in each language."""

from __future__ import annotations

import re
import threading
from functools import cache
from typing import Any, Literal

DEFAULT_LANGUAGE = "en"
LEAST_CONFIDENCE = 0.38
"""Below this the words are too few to tell; measured on requests of three to twenty words in twenty languages."""
_MOST_CHARACTERS = 2000
_LANGUAGES = """
    ar bg bn ca cs da de el en es et fa fi fr gl gu he hi hr hu id it ja kn ko lt lv mk ml mr ms nl no pl pt
    ro ru sk sl sq sr sv sw ta te th tl tr uk ur vi zh
"""
_GREETINGS = {
    "fr": "merci bonjour bonsoir salut oui non parfait super d'accord",
    "de": "danke hallo bitte ja nein genau guten",
    "es": "gracias hola sí vale perfecto",
    "it": "grazie ciao buongiorno perfetto",
    "pt": "obrigado obrigada olá",
    "en": "thanks hello hi yes please ok okay hey",
}
_QUOTED = re.compile(r"\"[^\"]*\"|“[^”]*”|«[^»]*»|「[^」]*」|`[^`]*`")
_NOT_WORDS = re.compile(r"https?://\S+|\S+@\S+")
SentenceName = Literal["which", "new", "stopped", "archived", "unknown", "deleted"]
_SENTENCES: dict[str, dict[SentenceName, str]] = {
    "en": {
        "which": "Where does this belong?",
        "new": "Start something new",
        "stopped": "“{goal}” was stopped, so I did nothing. Send it without a task to start something new.",
        "archived": "“{goal}” is archived, so I did nothing. Send it without a task to start something new.",
        "unknown": "The task this was meant for does not exist, so I did nothing.",
        "deleted": "The work this was about has been deleted, so I did nothing. Tell me which one to use instead.",
    },
    "fr": {
        "which": "À quel travail cela se rapporte-t-il ?",
        "new": "Commencer quelque chose de nouveau",
        "stopped": "« {goal} » a été arrêté : je n'ai rien fait. Envoyez le message hors de la tâche pour recommencer.",
        "archived": "« {goal} » est archivé : je n'ai rien fait. Envoyez le message hors de la tâche pour recommencer.",
        "unknown": "La tâche visée n'existe pas : je n'ai rien fait.",
        "deleted": "L'œuvre dont il s'agit a été supprimée : je n'ai rien fait. Dites-moi laquelle utiliser.",
    },
    "de": {
        "which": "Wozu gehört das?",
        "new": "Etwas Neues beginnen",
        "stopped": "„{goal}“ wurde angehalten, also habe ich nichts getan. Ohne Aufgabe gesendet beginnt Neues.",
        "archived": "„{goal}“ ist archiviert, also habe ich nichts getan. Ohne Aufgabe gesendet beginnt Neues.",
        "unknown": "Die gemeinte Aufgabe gibt es nicht, deshalb habe ich nichts getan.",
        "deleted": "Das gemeinte Werk ist gelöscht, deshalb habe ich nichts getan. Welches soll es stattdessen sein?",
    },
    "es": {
        "which": "¿A qué trabajo se refiere?",
        "new": "Empezar algo nuevo",
        "stopped": "«{goal}» se detuvo, así que no hice nada. Envíalo fuera de la tarea para empezar algo nuevo.",
        "archived": "«{goal}» está archivado, así que no hice nada. Envíalo fuera de la tarea para empezar algo nuevo.",
        "unknown": "La tarea indicada no existe, así que no hice nada.",
        "deleted": "La obra indicada se ha borrado, así que no hice nada. Dime cuál usar en su lugar.",
    },
}
# `cache` alone would let two threads load the table at the same time.
_lock = threading.Lock()


def language_of(text: str, fallback: str = DEFAULT_LANGUAGE) -> str:
    """Return a two-letter code, or `fallback` when the words are too few or too mixed to tell.

    Quotes and addresses count only when there is nothing else, since they are not the person's own words.
    """
    return detect_language(text) or fallback or DEFAULT_LANGUAGE


def detect_language(text: str) -> str | None:
    """Return the two-letter code of the language, or None when it is not clear."""
    words_only = _NOT_WORDS.sub(" ", text[:_MOST_CHARACTERS])
    unquoted = _QUOTED.sub(" ", words_only)
    words_only = unquoted if any(char.isalpha() for char in unquoted) else words_only
    if not any(char.isalpha() for char in words_only):
        return None
    short = _detect_greeting(words_only)
    if short:
        return short
    language, confidence = _get_identifier().classify(words_only)
    return str(language) if confidence >= LEAST_CONFIDENCE else None


def _detect_greeting(text: str) -> str | None:
    """Detect the language of thanks and greetings, which are too short for statistics."""
    words = re.findall(r"[^\W\d_]+(?:'[^\W\d_]+)?", text.lower())
    if len(words) > 3:
        return None
    return next((language for language, known in _GREETINGS.items() if set(words) & set(known.split())), None)


@cache
def _load_identifier() -> Any:
    # Loaded at the first use: its table takes half a second.
    from py3langid.langid import MODEL_FILE, LanguageIdentifier  # noqa: PLC0415

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    identifier.set_languages(_LANGUAGES.split())
    return identifier


def _get_identifier() -> Any:
    with _lock:
        return _load_identifier()


def router_sentence(language: str, name: SentenceName, goal: str = "") -> str:
    """Return a sentence of the router in a language, or in English when we do not have that language."""
    table = _SENTENCES.get(language[:2].lower(), _SENTENCES["en"])
    return table[name].format(goal=shorten_line(goal))


def shorten_line(goal: str, most: int = 80) -> str:
    """Shorten a text to one line of at most `most` characters, cut at a word."""
    line = " ".join(goal.split())
    return line if len(line) <= most else line[:most].rsplit(" ", 1)[0] + "…"
