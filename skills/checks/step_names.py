"""Names that stand for a function's steps."""

from __future__ import annotations

import ast
from collections.abc import Iterable


def step_names(nodes: Iterable[ast.AST]) -> frozenset[str]:
    """Names that stand for `ctx.step`: set to it, or a parameter that is called or typed so."""
    found: set[str] = set()
    for node in nodes:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Attribute(attr="step")):
                found.add(name)
            case ast.arg(arg=name, annotation=annotation) if name == "step" or _is_step_type(annotation):
                found.add(name)
            case _:
                continue
    return frozenset(found)


def _is_step_type(annotation: ast.expr | None) -> bool:
    match annotation:
        case ast.Attribute(attr=name) | ast.Name(id=name) | ast.Constant(value=str(name)):
            return name.rpartition(".")[2] in {"StepSync", "Step"}
        case _:
            return False
