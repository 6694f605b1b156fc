"""Which option of a question words name."""

from __future__ import annotations

import pytest

from router.option_match import option_described_by, option_named_by

OPTIONS = (
    {"id": "task_a", "label": "Three retro posters for the Harbour Festival"},
    {"id": "task_b", "label": "Posters for the jazz club"},
    {"id": "new", "label": "Start something new"},
)


@pytest.mark.parametrize(
    ("text", "option"),
    [
        ("Posters for the jazz club", "task_b"),
        ("posters for the JAZZ club!", "task_b"),
        ("task_a", "task_a"),
        ("2", "task_b"),
        ("#1", "task_a"),
        ("3.", "new"),
        ("The second one, please", "task_b"),
        ("the first", "task_a"),
        ("one", "task_a"),
        ("the last one", "task_b"),
        ("le deuxième", "task_b"),
        ("die erste", "task_a"),
        ("a new one", "new"),
        ("Start something new", "new"),
        ("4", None),
        ("the third one", None),
        ("Could the set be warmer?", None),
        ("the first and the second", None),
        ("", None),
        ("…", None),
    ],
)
def test_words_that_name_an_option(text: str, option: str | None) -> None:
    assert option_named_by(OPTIONS, text) == option


@pytest.mark.parametrize(
    ("text", "option"),
    [
        ("the jazz ones", "task_b"),
        ("the harbour festival posters", "task_a"),
        ("the posters", None),
        ("the jazz ones, but in blue", None),
    ],
)
def test_words_that_describe_an_option(text: str, option: str | None) -> None:
    assert option_named_by(OPTIONS, text) is None
    assert option_described_by(OPTIONS, text) == option
