"""The README tells the truth about commands, settings, files and pictures."""

from __future__ import annotations

import re

from app.cli.readme import README, fill_tables
from app.web.pages.view import NAVIGATION

FIRST_SCREEN = 38


def test_tables_are_those_of_the_commands_and_settings() -> None:
    text = README.read_text()

    assert fill_tables(text) == text, "write it anew with: python -m app.cli.readme"


def test_every_file_it_names_is_there() -> None:
    text = README.read_text()
    named = set(re.findall(r"\]\(([^)#:]+)\)", text)) | set(re.findall(r"`((?:\w+/)+\w*\.?\w*)`", text))

    missing = [name for name in named if not (README.parent / name).exists()]
    assert missing == []


def test_the_first_screen_has_what_a_newcomer_needs() -> None:
    first = "\n".join(README.read_text().splitlines()[:FIRST_SCREEN])

    for needed in ("docs/pictures/main.png", "git clone", "make run", "three retro posters", "#running-it-for-real"):
        assert needed in first
    assert "|---|" not in first


def test_its_picture_shows_the_navigation_of_today() -> None:
    pictured = (README.parent / "docs" / "pictures" / "main.navigation.txt").read_text().splitlines()

    assert pictured == [name for _, name in NAVIGATION], "take it anew with: python -m tests.support.pictures"


def test_its_commands_are_called_where_they_are() -> None:
    blocks = re.findall(r"```sh\n(.*?)```", README.read_text(), re.DOTALL)

    bare = [line for block in blocks for line in block.splitlines() if line.startswith("loopwright ")]
    assert bare == []


def test_each_of_its_sections_that_is_linked_is_there() -> None:
    text = README.read_text()
    titles = {title.lower().replace(" ", "-") for title in re.findall(r"^#+ (.*)$", text, re.MULTILINE)}

    assert set(re.findall(r"\]\(#([^)]+)\)", text)) <= titles
