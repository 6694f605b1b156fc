"""What the guides show is what the checks let pass."""

from __future__ import annotations

import re

import pytest

from core.errors import NotFoundError
from skills import kit
from skills.checks import check_source
from skills.format.manifest import Permissions
from skills.guide import list_guides, read_guide

_PYTHON = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
EXAMPLES = [(name, text) for name in list_guides() for text in _PYTHON.findall(read_guide(name))]


def test_there_are_examples() -> None:
    assert list_guides()["writing-skills"] == "Writing a durable skill"
    assert EXAMPLES


@pytest.mark.parametrize(("name", "example"), EXAMPLES)
def test_every_example_passes_every_check(name: str, example: str) -> None:
    assert check_source(example.encode(), "example", {}) == [], name


def test_the_guide_names_every_piece_of_the_kit_and_every_permission() -> None:
    text = read_guide("writing-skills")
    words = set(re.findall(r"\w+", text))
    assert set(kit.__all__) - {"Run", "Secret"} <= words
    assert set(Permissions.model_fields) - {"spend"} <= words


def test_a_guide_that_is_not_there_is_named_with_those_that_are() -> None:
    with pytest.raises(NotFoundError, match="writing-skills"):
        read_guide("../writing-skills")
