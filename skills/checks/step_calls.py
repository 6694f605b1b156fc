"""Find the step calls in a file, and the code that runs when one of its functions runs."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from skills.checks.source import SkillSource

STEP_METHODS = frozenset(("run", "sleep", "sleep_until", "wait_for_event", "invoke", "invoke_by_id", "send_event"))


@dataclass(frozen=True)
class StepCall:
    """One use of a step; `method` is a name from `STEP_METHODS`, `step_id` is None if it has none."""

    line: int
    method: str
    step_id: ast.expr | None
    call: ast.Call


def step_calls(source: SkillSource, within: Iterable[ast.AST]) -> Iterator[StepCall]:
    """Yield every use of a step in these nodes, also through `functools.partial(ctx.step.run, "id", …)`."""
    for node in within:
        if not isinstance(node, ast.Call):
            continue
        if (method := step_method(source, node.func)) is not None:
            yield StepCall(node.lineno, method, _argument(node, 0), node)
        elif (handed := partial_of(source, node)) is not None and (method := step_method(source, handed)) is not None:
            yield StepCall(node.lineno, method, _argument(node, 1), node)


def step_method(source: SkillSource, func: ast.expr) -> str | None:
    """Return the step method that this names, None if it is none."""
    match func:
        case ast.Attribute(attr=attr, value=ast.Attribute(attr="step")) if attr in STEP_METHODS:
            return attr
        case ast.Attribute(attr=attr, value=ast.Name(id=name)) if attr in STEP_METHODS and name in source.steps.steps:
            return attr
        case ast.Attribute(attr=attr, value=value) if attr in STEP_METHODS and source.steps.is_step(value):
            return attr
        case _:
            return None


def partial_of(source: SkillSource, call: ast.Call) -> ast.expr | None:
    """Return the function that a `functools.partial` call wraps, None for another call."""
    return call.args[0] if call.args and source.names.dotted(call.func) == "functools.partial" else None


def _argument(call: ast.Call, position: int) -> ast.expr | None:
    if len(call.args) > position:
        return call.args[position]
    return next((one.value for one in call.keywords if one.arg == "step_id"), None)


_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def nodes_reached(source: SkillSource, handler: ast.AST) -> list[ast.AST]:
    """Return the nodes of a handler and of the functions and classes of the file that it names, also indirectly."""
    own: Mapping[str, ast.stmt] = {one.name: one for one in source.tree.body if isinstance(one, _DEFINITIONS)}
    declared = {id(one.handler) for one in source.declared}
    nodes: list[ast.AST] = []
    waiting: list[ast.AST] = [handler]
    visited: set[int] = set()
    while waiting:
        place = waiting.pop()
        if id(place) in visited:
            continue
        visited.add(id(place))
        inside = [node for part in _inner_parts(place) for node in ast.walk(part)]
        nodes += inside
        for node in inside:
            named = own.get(node.id) if isinstance(node, ast.Name) else None
            # Another registered function has separate runs and steps.
            if named is not None and id(named) not in declared:
                waiting.append(named)
    return nodes


def nodes_called(source: SkillSource, body: Iterable[ast.AST]) -> list[ast.AST]:
    """Return the nodes that run when a body runs, with those of the functions of the file that it calls by name."""
    own = {one.name: one for one in source.tree.body if isinstance(one, ast.FunctionDef)}
    nodes: list[ast.AST] = []
    waiting: list[list[ast.AST]] = [list(body)]
    visited: set[str] = set()
    while waiting:
        inside = list(direct_nodes(waiting.pop()))
        nodes += inside
        for node in inside:
            name = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
            if name in own and name not in visited:
                visited.add(name)
                waiting.append(list(own[name].body))
    return nodes


def functions_with_steps(source: SkillSource) -> frozenset[str]:
    """Return the names of the functions and classes of the file that use a step, directly or through others."""
    methods = {id(one) for node in source.nodes if isinstance(node, ast.ClassDef) for one in node.body}
    used_by: dict[str, set[str]] = defaultdict(set)
    found: set[str] = set()
    others: set[str] = set()
    for one in (node for node in source.nodes if isinstance(node, _DEFINITIONS) and id(node) not in methods):
        inside = [node for part in _inner_parts(one) for node in ast.walk(part)]
        for node in inside:
            if isinstance(node, ast.Name):
                used_by[node.id].add(one.name)
        takes = next(step_calls(source, inside), None) is not None
        (found if takes else others).add(one.name)
    # Two of the same name: it is unclear which is meant.
    found -= others
    waiting = list(found)
    while waiting:
        more = used_by[waiting.pop()] - found
        found |= more
        waiting += more
    return frozenset(found)


def direct_nodes(body: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Yield the nodes that run when a body runs, without nested functions, lambdas and classes."""
    waiting = list(body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            continue
        yield node
        waiting += ast.iter_child_nodes(node)


def _inner_parts(place: ast.AST) -> list[ast.AST]:
    """Return the body of a function without its decorators, which name `on_failure` handlers; else the node itself."""
    match place:
        case ast.FunctionDef(body=body) | ast.AsyncFunctionDef(body=body):
            return list(body)
        case _:
            return [place]
