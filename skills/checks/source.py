"""A skill file as its checks see it: text and syntax tree, never a module."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from skills.checks.declared import Declared, declared_in
from skills.checks.names import Names, read_names
from skills.manifest import Manifest
from skills.problem import Problem


@dataclass(frozen=True)
class Source:
    """`nodes` are all nodes of `tree`; `manifest` is None when it is missing or wrong, which is told elsewhere.

    `others` are the files of the other skills by their stems.
    """

    stem: str
    text: str
    tree: ast.Module
    nodes: Sequence[ast.AST]
    names: Names
    declared: Sequence[Declared]
    manifest: Manifest | None
    others: Mapping[str, Path]


Check = Callable[[Source], Iterator[Problem]]


def read_source(
    text: str, tree: ast.Module, stem: str, manifest: Manifest | None, others: Mapping[str, Path]
) -> Source:
    nodes = list(ast.walk(tree))
    names = read_names(tree, nodes)
    return Source(stem, text, tree, nodes, names, declared_in(tree, nodes, names), manifest, others)


def shown(node: ast.expr) -> str:
    """The expression as its author wrote it, about a line of it."""
    text = ast.unparse(node).replace("\n", " ")
    return text if len(text) <= 80 else text[:79] + "…"
