"""The functions that a skill file registers."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from skills.checks.names import Names

CREATE = "skills.kit.client.create_function"

Handler = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


@dataclass(frozen=True)
class Declared:
    """One call of `client.create_function`. `fn_id` is None when it is missing or computed, `handler` when unknown."""

    call: ast.Call
    fn_id: str | None
    handler: Handler | None
    on_failure: Handler | None
    at_module_level: bool

    @property
    def options(self) -> Mapping[str, ast.expr]:
        return {one.arg: one.value for one in self.call.keywords if one.arg is not None}

    @property
    def label(self) -> str:
        return self.fn_id or (getattr(self.handler, "name", None) or "a function")


def declared_in(tree: ast.Module, nodes: Iterable[ast.AST], names: Names) -> tuple[Declared, ...]:
    """In the order of the file."""
    own = {one.name: one for one in tree.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)}
    handlers = _handlers(nodes, own)
    outer = {id(call) for statement in tree.body for call in _outer_calls(statement)}
    found = [
        Declared(
            call=node,
            fn_id=names.text(_option(node, "fn_id")),
            handler=handlers.get(id(node)),
            on_failure=_function(_option(node, "on_failure"), own),
            at_module_level=id(node) in outer,
        )
        for node in nodes
        if isinstance(node, ast.Call) and names.dotted(node.func) == CREATE
    ]
    return tuple(sorted(found, key=lambda one: (one.call.lineno, one.call.col_offset)))


def _handlers(nodes: Iterable[ast.AST], own: Mapping[str, Handler]) -> dict[int, Handler]:
    """The handler of each call, by the call's identity: what it decorates, or what its result is called with."""
    found: dict[int, Handler] = {}
    for node in nodes:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                found |= {id(one): node for one in node.decorator_list}
            case ast.Call(func=ast.Call() as create, args=[handler]) if (known := _function(handler, own)) is not None:
                found[id(create)] = known
            case _:
                continue
    return found


def _function(expression: ast.expr | None, own: Mapping[str, Handler]) -> Handler | None:
    match expression:
        case ast.Name(id=name):
            return own.get(name)
        case ast.Lambda():
            return expression
        case _:
            return None


def _option(call: ast.Call, name: str) -> ast.expr | None:
    return next((one.value for one in call.keywords if one.arg == name), None)


def _outer_calls(statement: ast.stmt) -> list[ast.expr]:
    match statement:
        case ast.FunctionDef(decorator_list=decorators) | ast.AsyncFunctionDef(decorator_list=decorators):
            return list(decorators)
        case ast.Assign(value=ast.Call() as call) | ast.AnnAssign(value=ast.Call() as call):
            return [call, call.func]
        case ast.Expr(value=ast.Call() as call):
            return [call, call.func]
        case _:
            return []
