"""Fingerprint of a statement: its keywords, independent of order, case and punctuation."""

from __future__ import annotations

import hashlib
import re
import unicodedata

_WORD = re.compile(r"[^\W_]+", re.UNICODE)
_FILLING_WORDS = """
    a an the is are was be been our ours my mine i we us you your it its this that these those of to in on for with
    and or always please remember person workspace user users like likes prefer prefers
    le la les un une des est sont notre nos mon ma mes je nous de du et toujours
"""
_FILLING = frozenset(_FILLING_WORDS.split())


def words_of(text: str) -> tuple[str, ...]:
    """Return the keywords of a statement, sorted, each once; all its words when it has no keywords."""
    every = set(_WORD.findall(unicodedata.normalize("NFKC", text).casefold()))
    return tuple(sorted(every - _FILLING or every))


def fingerprint(workspace_id: str, scope: str, text: str) -> str:
    """Return a digest that is equal for equal statements in a scope, and from which the text cannot be read."""
    said = "\x1f".join((workspace_id, scope, *words_of(text)))
    return hashlib.sha256(said.encode("utf-8", "replace")).hexdigest()
