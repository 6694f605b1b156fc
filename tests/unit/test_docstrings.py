"""Docstrings name only what is there.

Checked are names `module.name` of a module that the file imports or has beside it, or whose whole path is given.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = (
    "app", "core", "engine", "functions", "generation", "loopwright",
    "memory", "router", "runtime", "sidecar", "skills", "standins", "workspace",
)  # fmt: skip
MODULES = [path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py"))]
_NAME = re.compile(r"`(\w+(?:\.\w+)+)(?:\(\))?`")


@pytest.mark.parametrize("room", ROOMS)
def test_every_name_of_a_module_in_a_docstring_is_there(room: str) -> None:
    missing = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in MODULES
        if path.is_relative_to(ROOT / room)
        for name in _missing_names(path)
    ]

    assert missing == []


def _missing_names(path: Path) -> Iterator[str]:
    """The dotted names in docstrings whose module is known here and has no such name."""
    tree = _tree(path)
    # A name that the file itself binds, such as a parameter, means that and not the module beside it.
    beside = {name: other for name, other in _modules_beside(path).items() if name not in _bound_names(tree)}
    modules = {**beside, **_imported_modules(tree)}
    for text in _docstrings(tree):
        for name in _NAME.findall(text):
            module, attribute = _resolve(name.split("."), modules)
            if module is not None and attribute not in _names_of(module):
                yield name


def _resolve(parts: list[str], modules: dict[str, Path]) -> tuple[Path | None, str]:
    """The module that a dotted name begins with, by its own name or by its whole path, and the name after it."""
    if parts[0] in modules:
        return modules[parts[0]], parts[1]
    for n in range(2, len(parts)):
        path = ROOT.joinpath(*parts[:n]).with_suffix(".py")
        if parts[0] in ROOMS and path.exists():
            return path, parts[n]
    return None, ""


def _modules_beside(path: Path) -> dict[str, Path]:
    return {other.stem: other for other in path.parent.glob("*.py") if other.stem != "__init__"}


def _imported_modules(tree: ast.Module) -> dict[str, Path]:
    """The modules of ours that a file imports by `from package import module`, under their names in the file."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                path = ROOT.joinpath(*node.module.split("."), f"{alias.name}.py")
                if path.exists():
                    found[alias.asname or alias.name] = path
    return found


@cache
def _names_of(path: Path) -> frozenset[str]:
    """The names that a module defines or imports at its top level."""
    names: set[str] = set()
    for node in _tree(path).body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                names.add(node.name)
            case ast.Assign():
                names |= {one.id for target in node.targets for one in ast.walk(target) if isinstance(one, ast.Name)}
            case ast.AnnAssign(target=ast.Name(id=name)):
                names.add(name)
            case ast.Import() | ast.ImportFrom():
                names |= {alias.asname or alias.name.split(".")[0] for alias in node.names}
    return frozenset(names)


def _bound_names(tree: ast.Module) -> set[str]:
    """The parameters and variables of a file, wherever they are bound, and what it imports."""
    names = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    names |= {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    return names | {alias.asname or alias.name for node in imports for alias in node.names}


def _docstrings(tree: ast.Module) -> Iterator[str]:
    """Every string that is a statement: docstrings, and descriptions below a constant."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.value.value


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())
