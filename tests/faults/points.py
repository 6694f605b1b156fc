"""Every named point where a process can be struck, as the sources name it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
LOOKED_AT = ("core", "functions", "generation", "memory", "router", "runtime", "sidecar", "skills", "workspace")
EDGES = ("before_commit", "after_commit")
UNNAMED = "tool"
"""What `CallContext.transaction` is called where a tool does not say."""


def every_point() -> set[str]:
    """Return the points of every room, without those of the web's commands, which are one for each route."""
    files = [file for room in LOOKED_AT for file in sorted((ROOT / room).rglob("*.py"))]
    return {point for file in files for node in ast.walk(ast.parse(file.read_text())) for point in _points(node)}


def _points(node: ast.AST) -> Iterator[str]:
    if not isinstance(node, ast.Call):
        return
    called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    texts = [one.value for one in node.args if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    match called:
        case "around" if texts:
            yield from (f"{texts[0]}.{edge}" for edge in ("before", "after"))
        case "point" if len(texts) == len(node.args) > 0:
            yield ".".join(texts)
        case "transaction" | "_transaction" | "acquire_turn_lease" if texts:
            yield from (f"{texts[-1]}.{edge}" for edge in EDGES)
        case "transaction" if not node.args:
            yield from (f"{UNNAMED}.{edge}" for edge in EDGES)
        case _:
            return
