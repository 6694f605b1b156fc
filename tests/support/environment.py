"""The settings that must not reach a test from the person who runs it."""

from __future__ import annotations

import os

_OURS = ("LOOPWRIGHT_", "INNGEST_", "OPENAI_")


def is_setting(name: str) -> bool:
    return name.startswith(_OURS)


def without_settings() -> dict[str, str]:
    """Return this process's environment without our settings."""
    return {name: value for name, value in os.environ.items() if not is_setting(name)}
