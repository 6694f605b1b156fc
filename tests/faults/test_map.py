"""Hold two lists complete: every point where a process can die, and the boundaries that are held while one dies."""

from __future__ import annotations

import ast
from functools import cache

import pytest

from tests.faults import (
    test_dying,
    test_dying_memory,
    test_dying_orders,
    test_dying_sidecar,
    test_dying_skills,
    test_every_point,
)
from tests.faults.points import every_point
from tests.search.test_dying import DEATHS as search_deaths
from tests.support.situations import TESTS, list_marked_tests

HELD_BY_DEATHS = ("2", *(str(n) for n in range(8, 23)), "22b", *(str(n) for n in range(23, 43)))
"""The boundaries of docs/boundaries.md that have to hold while a process dies; the others need no death."""
ON_BOTH_DATABASES = {"rig", "stage", "store"}
"""Fixtures that give each test once on SQLite and once on PostgreSQL."""
DEADLY = {"strike", "die", "at_once", "kill"}
"""Calls that have real processes die, freeze or meet."""


def test_every_point_is_struck_by_a_case() -> None:
    """A commit or an outside call that is added without a case where a process dies there fails here."""
    cases = [
        *test_every_point.CASES.values(),
        *test_dying.DEATHS.values(),
        *test_dying_memory.DEATHS.values(),
        *test_dying_orders.DEATHS.values(),
        *test_dying_sidecar.DEATHS.values(),
        *test_dying_skills.DEATHS.values(),
        *search_deaths.values(),
    ]
    struck = {entry.partition("#")[0] for entries in cases for entry in entries}
    assert sorted(every_point() - struck) == []
    assert {point for point in struck - every_point() if not point.startswith("web.")} == set()


def test_every_case_with_a_boundary_is_played() -> None:
    assert set(test_every_point.BOUNDARIES) <= set(test_every_point.CASES)


@pytest.mark.parametrize("number", HELD_BY_DEATHS)
def test_boundary_is_held_by_processes_that_die_on_both_databases(number: str) -> None:
    held = [one for one in list_marked_tests() if one.marker == "boundary" and one.situation == number]
    assert any(_is_deadly(one.file, one.function) for one in held), held


def _is_deadly(file: str, name: str) -> bool:
    """Whether a test of this package runs on both databases and, itself or by what it calls, strikes processes."""
    if not file.startswith("faults/"):
        return False
    functions = _functions(file)
    reached, left = set[str](), {name}
    while left:
        reached |= left
        left = {called for one in left if one in functions for called in _called(functions[one])} - reached
    return bool(ON_BOTH_DATABASES & {one.arg for one in functions[name].args.args} and DEADLY & reached)


@cache
def _functions(file: str) -> dict[str, ast.FunctionDef]:
    return {one.name: one for one in ast.parse((TESTS / file).read_text()).body if isinstance(one, ast.FunctionDef)}


def _called(function: ast.FunctionDef) -> set[str]:
    calls = [node.func for node in ast.walk(function) if isinstance(node, ast.Call)]
    return {str(getattr(one, "id", getattr(one, "attr", ""))) for one in calls}
