"""Ways to read an attribute of an object by a name that stands in a text, or that another library knows."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from skills.checks.word_list import words

_READERS = words(
    """getattr hasattr attrgetter format format_map vformat get_field runtime_checkable from_attributes
    singledispatchmethod"""
)


def at_loading(tree: ast.Module) -> Iterator[ast.AST]:
    """Every node that Python may work out while it loads the file: all but the bodies of functions."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        for field, value in ast.iter_fields(node):
            if field == "body" and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            parts = value if isinstance(value, list) else [value]
            waiting += [part for part in parts if isinstance(part, ast.AST)]


def may_read_by_name(nodes: Iterable[ast.AST]) -> bool:
    """Whether one of these nodes may do so: then nobody can tell which attributes are read."""
    return any(_reads(node) for node in nodes)


def _reads(node: ast.AST) -> bool:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.alias(name=name) | ast.Constant(value=str(name)):
            return name in _READERS
        case ast.Assign(targets=[ast.Name(id="model_config")], value=value):
            return not _is_plain(value)
        case ast.AnnAssign(target=ast.Name(id="model_config"), value=ast.expr() as value):
            return not _is_plain(value)
        case ast.keyword(arg="config", value=value):
            return not _is_plain(value)
        case ast.keyword(arg=name):
            return name in _READERS
        case _:
            return False


def _is_plain(settings: ast.expr) -> bool:
    """Whether every name among these settings of pydantic's is written out."""
    match settings:
        case ast.Call(args=[], keywords=named):
            return all(one.arg is not None for one in named)
        case ast.Dict(keys=keys):
            return all(isinstance(key, ast.Constant) for key in keys)
        case _:
            return False
