"""Fingerprint of a statement: its telling words, whatever their order, case and punctuation."""

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
    """The telling words of a statement, each once, in one order; all its words where none is telling."""
    every = set(_WORD.findall(unicodedata.normalize("NFKC", text).casefold()))
    return tuple(sorted(every - _FILLING or every))


def fingerprint(workspace_id: str, scope: str, text: str) -> str:
    """A digest that the same statement in the same scope has again; the text cannot be read from it."""
    said = "\x1f".join((workspace_id, scope, *words_of(text)))
    return hashlib.sha256(said.encode("utf-8", "replace")).hexdigest()
