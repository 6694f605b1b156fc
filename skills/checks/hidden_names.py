"""Names that an import gives a second meaning: then nobody can tell what is called."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator

from skills.checks.source import Source
from skills.problem import Problem

HIDES = "give it a name that nothing else has"


def check_hidden_names(source: Source) -> Iterator[Problem]:
    at_the_top = {id(node) for node in source.tree.body}
    known: dict[str, str] = {}
    for node in source.nodes:
        match node:
            case ast.Import(names=names):
                bound = [(one.asname, one.name) if one.asname else (one.name.partition(".")[0],) * 2 for one in names]
            case ast.ImportFrom(module=module, names=names):
                bound = [(one.asname or one.name, f"{module}.{one.name}") for one in names]
            case _:
                continue
        for name, dotted in bound:
            if known.setdefault(name, dotted) != dotted:
                yield Problem(node.lineno, f"{name} is imported twice, as two things", HIDES)
            if id(node) not in at_the_top and hasattr(builtins, name):
                yield Problem(node.lineno, f"this import hides Python's own {name}", HIDES)
