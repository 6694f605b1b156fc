"""The language of the person's own words."""

from __future__ import annotations

import re
import threading
from functools import cache
from typing import Any

DEFAULT = "en"
SURE = 0.38
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


def language_of(text: str, fallback: str = DEFAULT) -> str:
    """A two-letter code; `fallback` when the words are too few or too mixed to tell.

    Quoted lines and addresses are not the person's own words, unless there is nothing else.
    """
    return detected(text) or fallback or DEFAULT


def detected(text: str) -> str | None:
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
    return str(language) if sureness >= SURE else None


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
