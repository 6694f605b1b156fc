"""The README tells the truth about commands, settings, files and pictures."""

from __future__ import annotations

import re

from app.readme import README, filled


def test_tables_are_those_of_the_commands_and_settings() -> None:
    text = README.read_text()

    assert filled(text) == text, "write it anew with: python -m app.readme"


def test_every_file_it_names_is_there() -> None:
    text = README.read_text()
    named = set(re.findall(r"\]\(([^)#:]+)\)", text)) | set(re.findall(r"`((?:\w+/)+\w*\.?\w*)`", text))

    missing = [name for name in named if not (README.parent / name).exists()]
    assert missing == []
