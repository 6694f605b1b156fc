"""A skill file as its checks see it: text and syntax tree, never a module."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from skills.checks.declared import Declared, declared_in
from skills.checks.names import Names, read_names
from skills.checks.step_names import StepNames, step_names
from skills.manifest import Manifest
from skills.problem import Problem, RefusedSkillError

MOST_FUNCTIONS = 20
_MOST_NODES = 50_000


@dataclass(frozen=True)
class Source:
    """`nodes` are all nodes of `tree`; `manifest` is None when it is missing or wrong, which is told elsewhere.

    `declared` are the first functions, `too_many` those beyond the limit; `steps` are names that stand for `ctx` and
    for `ctx.step`; `others` are the files of the other skills by their stems.
    """

    stem: str
    lines: Sequence[str]
    tree: ast.Module
    nodes: Sequence[ast.AST]
    names: Names
    steps: StepNames
    declared: Sequence[Declared]
    too_many: Sequence[Declared]
    manifest: Manifest | None
    others: Mapping[str, Path]

    def shown(self, node: ast.expr) -> str:
        """The expression as its author wrote it, about a line of it."""
        line = self.lines[node.lineno - 1].encode() if node.lineno <= len(self.lines) else b""
        end = node.end_col_offset if node.end_lineno == node.lineno else None
        text = line[node.col_offset : end][:300].decode("utf-8", "ignore").strip()
        return text if len(text) <= 80 and end is not None else text[:79] + "…"


Check = Callable[[Source], Iterator[Problem]]


def read_source(
    text: str, tree: ast.Module, stem: str, manifest: Manifest | None, others: Mapping[str, Path]
) -> Source:
    """Raises RefusedSkillError for more code than anybody would check in the time of a save."""
    nodes = list(ast.walk(tree))
    if len(nodes) > _MOST_NODES:
        reason = f"the file has {len(nodes)} pieces of code, more than {_MOST_NODES}"
        raise RefusedSkillError(Problem(None, reason, "make it several files, and keep data out of them"))
    names = read_names(tree, nodes)
    declared = declared_in(tree, nodes, names)
    return Source(
        stem=stem,
        lines=text.split("\n"),
        tree=tree,
        nodes=nodes,
        names=names,
        steps=step_names(nodes, declared),
        declared=declared[:MOST_FUNCTIONS],
        too_many=declared[MOST_FUNCTIONS:],
        manifest=manifest,
        others=others,
    )
