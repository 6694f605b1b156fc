"""Statuses are members of their enums: in the sets beside them, and where mypy cannot see a column's type."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path

import pytest

from runtime import statuses, tables
from runtime.statuses import (
    ENDED_TASK_STATUSES,
    FINISHED_CALL_STATUSES,
    OPEN_TASK_STATUSES,
    UNFINISHED_CALL_STATUSES,
    CallStatus,
    TaskStatus,
    one_of_values,
)

ROOT = Path(__file__).parents[2]
ROOMS = ("app", "functions", "generation", "memory", "router", "runtime", "sidecar", "skills", "workspace")
ENUMS = [kind for kind in vars(statuses).values() if isinstance(kind, type) and issubclass(kind, StrEnum)]
VALUES = {str(value) for kind in ENUMS if kind is not StrEnum for value in kind}
COLUMNS = {
    ("messages", "state"),
    ("tasks", "status"),
    ("inbox", "kind"),
    ("inbox", "state"),
    ("turns", "status"),
    ("calls", "status"),
    ("waits", "kind"),
    ("cards", "kind"),
    ("cards", "state"),
    ("checklist_steps", "status"),
}
"""The columns whose values are members."""


def test_every_task_and_every_call_is_either_open_or_over() -> None:
    assert {*OPEN_TASK_STATUSES, TaskStatus.DONE, *ENDED_TASK_STATUSES} == set(TaskStatus)
    assert not set(OPEN_TASK_STATUSES) & set(ENDED_TASK_STATUSES)
    assert {*UNFINISHED_CALL_STATUSES, *FINISHED_CALL_STATUSES} == set(CallStatus)
    assert not set(UNFINISHED_CALL_STATUSES) & set(FINISHED_CALL_STATUSES)


def test_a_check_lists_the_values_in_their_order() -> None:
    assert one_of_values("status", UNFINISHED_CALL_STATUSES) == "status in ('proposed', 'started')"


def test_no_column_is_compared_with_a_bare_string() -> None:
    assert [found for room in ROOMS for found in _bare_comparisons(room)] == []


def test_no_status_is_written_as_a_bare_string() -> None:
    assert [found for room in ("router", "runtime") for found in _bare_values(room)] == []


def test_no_member_is_compared_by_identity() -> None:
    """A row that was read without its dataclass holds a plain string, which equals a member and is none."""
    assert [found for room in ROOMS for found in _identity_comparisons(room)] == []


@pytest.mark.parametrize(
    "source",
    [
        'from runtime.tables import tasks\nquery = tasks.c.status == "done"',
        'from runtime.tables import cards as rows\nquery = rows.c.kind.in_(("quote", "limit"))',
        'from runtime.tables import inbox\nquery = one_of(inbox.c.state, "claimed")',
    ],
)
def test_a_bare_comparison_is_found(source: str) -> None:
    assert len(list(_compared_with_strings(ast.parse(source)))) == 1


def _bare_comparisons(room: str) -> Iterator[str]:
    for path in sorted((ROOT / room).rglob("*.py")):
        for node in _compared_with_strings(ast.parse(path.read_text())):
            yield f"{path.relative_to(ROOT)}:{node.lineno} {ast.unparse(node)}"


def _compared_with_strings(tree: ast.Module) -> Iterator[ast.expr]:
    """The comparisons and calls that hold a column of ours against a string."""
    ours = {
        alias.asname or alias.name: alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == tables.__name__
        for alias in node.names
    }
    for node in ast.walk(tree):
        match node:
            case ast.Compare(left=left, comparators=others) if _is_column(left, ours):
                with_what: list[ast.expr] = others
            case ast.Call(func=ast.Attribute(value=left, attr=method), args=args) if method != "label" and _is_column(
                left, ours
            ):
                with_what = args
            case ast.Call(args=[left, *args]) if _is_column(left, ours):
                with_what = args
            case _:
                continue
        if any(map(_holds_string, with_what)):
            yield node


def _holds_string(node: ast.expr) -> bool:
    """Whether a string is in an expression; the name of a parameter that is bound later is none of its values."""
    match node:
        case ast.Constant(value=str()):
            return True
        case ast.Call(func=ast.Attribute(attr="bindparam")):
            return False
    return any(_holds_string(part) for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr))


def _is_column(node: ast.expr, ours: dict[str, str]) -> bool:
    match node:
        case ast.Attribute(value=ast.Attribute(value=ast.Name(id=table), attr="c"), attr=column):
            return (ours.get(table), column) in COLUMNS
    return False


def _bare_values(room: str) -> Iterator[str]:
    """Keywords that write a status or a state as a string."""
    for path in sorted((ROOT / room).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.keyword(arg="status" | "state", value=ast.Constant(value=value)) if value in VALUES:
                    yield f"{path.relative_to(ROOT)}:{node.lineno} {value}"


def _identity_comparisons(room: str) -> Iterator[str]:
    names = {kind.__name__ for kind in ENUMS}
    for path in sorted((ROOT / room).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.Compare(
                    ops=[ast.Is() | ast.IsNot()], comparators=[ast.Attribute(value=ast.Name(id=name))]
                ) if name in names:
                    yield f"{path.relative_to(ROOT)}:{node.lineno} {ast.unparse(node)}"
