"""Read text from untrusted JSON, without control characters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def text_in(told: Any, name: str, most: int = 400) -> str:
    """Return the text under a name, cleaned and cut; empty if there is none."""
    value = told.get(name) if isinstance(told, Mapping) else None
    return clean_text(value, most) if isinstance(value, str) else ""


def clean_text(text: str, most: int) -> str:
    """Replace control characters by spaces and cut the text to `most` characters."""
    kept = "".join(char if char.isprintable() else " " for char in text)
    return kept.encode("utf-8", "replace").decode()[:most].strip()


def error_text(error: Any, most: int = 400) -> str:
    """Return the text of an error that is stored as text or as `name` and `message`."""
    if isinstance(error, str):
        return clean_text(error, most)
    name, said = text_in(error, "name", 80), text_in(error, "message", most)
    return f"{name}: {said}" if name and said else said or name
