"""Text out of JSON that anybody may have written, without control characters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def text_in(told: Any, name: str, most: int = 400) -> str:
    """The text under a name, without control characters; empty when it is none."""
    value = told.get(name) if isinstance(told, Mapping) else None
    return clean_text(value, most) if isinstance(value, str) else ""


def clean_text(text: str, most: int) -> str:
    kept = "".join(char if char.isprintable() else " " for char in text)
    return kept.encode("utf-8", "replace").decode()[:most].strip()


def error_text(error: Any, most: int = 400) -> str:
    """What an error says, whichever way it was kept."""
    if isinstance(error, str):
        return clean_text(error, most)
    name, said = text_in(error, "name", 80), text_in(error, "message", most)
    return f"{name}: {said}" if name and said else said or name
