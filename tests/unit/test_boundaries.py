"""docs/boundaries.md and the markers of the tests say the same."""

from __future__ import annotations

import re

import pytest

from tests.support.situations import TESTS, MarkedTest, list_marked_tests

ROW = re.compile(r"^\| (\d+b?|B\d\d) \|.*\| ([^|]+) \|$", re.MULTILINE)
ROWS = dict(ROW.findall((TESTS.parent / "docs/boundaries.md").read_text()))
"""The last column of each row, by the number or case in its first."""


def test_the_page_has_every_boundary_once_and_in_order() -> None:
    numbers = [situation for situation in ROWS if not situation.startswith("B")]
    assert numbers == [*(str(n) for n in range(1, 23)), "22b", *(str(n) for n in range(23, 66))]
    assert len(ROW.findall((TESTS.parent / "docs/boundaries.md").read_text())) == len(ROWS)


def test_every_marker_names_a_row_of_its_table() -> None:
    assert [one for one in list_marked_tests() if one.situation not in ROWS or not _is_marker_of_its_table(one)] == []


def _is_marker_of_its_table(test: MarkedTest) -> bool:
    return test.marker == ("case" if test.situation.startswith("B") else "boundary")


@pytest.mark.parametrize("situation", ROWS)
def test_a_row_names_the_folders_of_its_tests(situation: str) -> None:
    folders = {one.room for one in list_marked_tests() if one.situation == situation}
    said = ROWS[situation]
    if folders:
        assert said == ", ".join(f"`{folder}`" for folder in sorted(folders))
    else:
        assert said.startswith("none: ")


def test_a_marker_stands_where_a_test_is() -> None:
    """A marker on a helper would count as a test that nothing runs."""
    assert [one for one in list_marked_tests() if one.function and not one.function.startswith("test_")] == []
