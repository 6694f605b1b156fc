"""Detect the language of a person's words, and write the router's own sentences in it."""

from __future__ import annotations

import re
import threading
from functools import cache
from typing import Any, Literal

DEFAULT_LANGUAGE = "en"
LEAST_CONFIDENCE = 0.38
"""Below this the words are too few to tell; measured on wishes of three to twenty words in twenty languages."""
_LOOKED_AT = 2000
_KNOWN = """
    ar bg bn ca cs da de el en es et fa fi fr gl gu he hi hr hu id it ja kn ko lt lv mk ml mr ms nl no pl pt
    ro ru sk sl sq sr sv sw ta te th tl tr uk ur vi zh
"""
_SHORT = {
    "fr": "merci bonjour bonsoir salut oui non parfait super d'accord",
    "de": "danke hallo bitte ja nein genau guten",
    "es": "gracias hola sí vale perfecto",
    "it": "grazie ciao buongiorno perfetto",
    "pt": "obrigado obrigada olá",
    "en": "thanks hello hi yes please ok okay hey",
}
_QUOTED = re.compile(r"\"[^\"]*\"|“[^”]*”|«[^»]*»|「[^」]*」|`[^`]*`")
_NOT_WORDS = re.compile(r"https?://\S+|\S+@\S+")
_lock = threading.Lock()


def language_of(text: str, fallback: str = DEFAULT_LANGUAGE) -> str:
    """A two-letter code; `fallback` when the words are too few or too mixed to tell.

    Quoted lines and addresses are not the person's own words, unless there is nothing else.
    """
    return detect_language(text) or fallback or DEFAULT_LANGUAGE


def detect_language(text: str) -> str | None:
    """The language where it is plain."""
    own = _NOT_WORDS.sub(" ", text[:_LOOKED_AT])
    unquoted = _QUOTED.sub(" ", own)
    own = unquoted if any(char.isalpha() for char in unquoted) else own
    if not any(char.isalpha() for char in own):
        return None
    short = _by_one_word(own)
    if short:
        return short
    language, sureness = _identifier().classify(own)
    return str(language) if sureness >= LEAST_CONFIDENCE else None


def _by_one_word(text: str) -> str | None:
    """Thanks and greetings are too short for statistics."""
    said = re.findall(r"[^\W\d_]+(?:'[^\W\d_]+)?", text.lower())
    if len(said) > 3:
        return None
    return next((language for language, known in _SHORT.items() if set(said) & set(known.split())), None)


@cache
def _loaded() -> Any:
    # Its table takes half a second to load: paid by the process that routes, at its first message.
    from py3langid.langid import MODEL_FILE, LanguageIdentifier  # noqa: PLC0415

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    identifier.set_languages(_KNOWN.split())
    return identifier


def _identifier() -> Any:
    with _lock:
        return _loaded()


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


def router_sentence(language: str, name: SentenceName, goal: str = "") -> str:
    table = _SENTENCES.get(language[:2].lower(), _SENTENCES["en"])
    return table[name].format(goal=shorten_line(goal))


def shorten_line(goal: str, most: int = 80) -> str:
    """A goal as a label: one line, cut at a word."""
    line = " ".join(goal.split())
    return line if len(line) <= most else line[:most].rsplit(" ", 1)[0] + "…"
