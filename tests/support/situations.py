"""Read which tests hold which situations of docs/boundaries.md, from the markers in the test files."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

TESTS = Path(__file__).parents[1]
MARKERS = ("boundary", "case")


@dataclass(frozen=True)
class MarkedTest:
    """One situation that a test holds: `function` is empty where a marker stands for a whole file."""

    situation: str
    marker: str
    file: str
    function: str

    @property
    def room(self) -> str:
        """The folder of tests/ that the test is in."""
        return self.file.split("/")[0]


@cache
def list_marked_tests() -> tuple[MarkedTest, ...]:
    """Return one entry for each situation of each test, with the file's path below tests/.

    The files are read and not imported, so that the answer is the same in a run of a single file.
    """
    return tuple(found for path in sorted(TESTS.rglob("test_*.py")) for found in _read_file(path))


def _read_file(path: Path) -> Iterator[MarkedTest]:
    tree = ast.parse(path.read_text())
    constants = {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    }
    file = str(path.relative_to(TESTS))
    if "pytestmark" in constants:
        yield from (MarkedTest(*mark, file, "") for mark in _read_markers(constants["pytestmark"]))
    for function in [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]:
        used = [node for one in function.decorator_list for node in ast.walk(one)]
        named = [constants[node.id] for node in used if isinstance(node, ast.Name) and node.id in constants]
        for part in (*function.decorator_list, *named):
            yield from (MarkedTest(*mark, file, function.name) for mark in _read_markers(part))


def _read_markers(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield situation and marker of every `pytest.mark.boundary(...)` and `pytest.mark.case(...)` in an expression."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Attribute(attr="mark"), attr=marker), args=args):
                if marker in MARKERS:
                    yield from ((str(ast.literal_eval(one)), marker) for one in args)
