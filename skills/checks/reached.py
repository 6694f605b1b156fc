"""What runs when a function of the file runs."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from skills.checks.source import Source
from skills.checks.step_calls import step_calls

_OWN = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def reached(source: Source, handler: ast.AST) -> list[ast.AST]:
    """The nodes of a handler, and of the file's own functions and classes that it names, directly or through others."""
    own: Mapping[str, ast.stmt] = {one.name: one for one in source.tree.body if isinstance(one, _OWN)}
    declared = {id(one.handler) for one in source.declared}
    nodes: list[ast.AST] = []
    waiting: list[ast.AST] = [handler]
    visited: set[int] = set()
    while waiting:
        place = waiting.pop()
        if id(place) in visited:
            continue
        visited.add(id(place))
        inside = [node for part in _parts(place) for node in ast.walk(part)]
        nodes += inside
        for node in inside:
            named = own.get(node.id) if isinstance(node, ast.Name) else None
            # Another registered function has runs and steps of its own.
            if named is not None and id(named) not in declared:
                waiting.append(named)
    return nodes


def called(source: Source, body: Iterable[ast.AST]) -> list[ast.AST]:
    """The nodes that run when a body runs, and those of the file's own functions that it calls by name."""
    own = {one.name: one for one in source.tree.body if isinstance(one, ast.FunctionDef)}
    nodes: list[ast.AST] = []
    waiting: list[list[ast.AST]] = [list(body)]
    visited: set[str] = set()
    while waiting:
        inside = list(directly(waiting.pop()))
        nodes += inside
        for node in inside:
            name = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
            if name in own and name not in visited:
                visited.add(name)
                waiting.append(list(own[name].body))
    return nodes


def stepping(source: Source) -> frozenset[str]:
    """The names of the file's own functions and classes in which, or in what they name, a step is taken."""
    methods = {id(one) for node in source.nodes if isinstance(node, ast.ClassDef) for one in node.body}
    used_by: dict[str, set[str]] = defaultdict(set)
    found: set[str] = set()
    others: set[str] = set()
    for one in (node for node in source.nodes if isinstance(node, _OWN) and id(node) not in methods):
        inside = [node for part in _parts(one) for node in ast.walk(part)]
        for node in inside:
            if isinstance(node, ast.Name):
                used_by[node.id].add(one.name)
        takes = next(step_calls(source, inside), None) is not None
        (found if takes else others).add(one.name)
    # Of two that bear one name nobody can tell which is meant.
    found -= others
    waiting = list(found)
    while waiting:
        more = used_by[waiting.pop()] - found
        found |= more
        waiting += more
    return frozenset(found)


def directly(body: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """What runs when a body runs: not the bodies of the functions and lambdas in it."""
    waiting = list(body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            continue
        yield node
        waiting += ast.iter_child_nodes(node)


def _parts(place: ast.AST) -> list[ast.AST]:
    """Its body, without the decorators, which name `on_failure` handlers."""
    match place:
        case ast.FunctionDef(body=body) | ast.AsyncFunctionDef(body=body):
            return list(body)
        case _:
            return [place]
