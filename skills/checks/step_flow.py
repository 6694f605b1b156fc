"""Steps that go another way than by their own call: then nobody can say which ids they get."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from skills.checks.source import Source
from skills.checks.step_calls import partial_of, step_method
from skills.checks.step_names import own_functions, receivers
from skills.problem import Problem

_FIX = "call ctx.step.run(…) itself, or hand on ctx, so that its id can be read"
_READERS = frozenset(("builtins.getattr", "operator.attrgetter"))


def check_step_flow(source: Source) -> Iterator[Problem]:
    yield from _methods(source)
    yield from _objects(source)
    yield from _by_name(source)


def _methods(source: Source) -> Iterator[Problem]:
    """A step's method that is not called where it is named."""
    direct: set[int] = set()
    for node in source.nodes:
        if isinstance(node, ast.Call):
            direct.add(id(node.func))
            direct.add(id(partial_of(source, node)))
    for node in source.nodes:
        if isinstance(node, ast.Attribute) and id(node) not in direct and step_method(source, node) is not None:
            reason = f"step.{node.attr} is handed on instead of called"
            yield Problem(node.lineno, reason, f"call ctx.step.{node.attr} itself, so that its id can be read")


def _objects(source: Source) -> Iterator[Problem]:
    """`ctx.step` itself, given to anybody else than a name or a function of the file."""
    known: set[int] = set()
    own = own_functions(source.nodes)
    for node in source.nodes:
        match node:
            case ast.Attribute(value=value):
                known.add(id(value))
            case ast.Assign(targets=[ast.Name()], value=value) | ast.NamedExpr(value=value):
                known.add(id(value))
            case ast.AnnAssign(value=ast.expr() as value):
                known.add(id(value))
            case ast.Call():
                known |= {id(value) for value, _ in receivers(node, own)}
            case _:
                continue
    for node in source.nodes:
        match node:
            case ast.Attribute(ctx=ast.Load()) | ast.Name(ctx=ast.Load()) if id(node) not in known:
                if source.steps.is_step(node):
                    yield Problem(node.lineno, f"{source.shown(node)} is handed on, and its steps with it", _FIX)
            case _:
                continue


def _by_name(source: Source) -> Iterator[Problem]:
    """A step that is read from its context by a text or a pattern."""
    for node in source.nodes:
        match node:
            case ast.Call(func=func, args=arguments) if source.names.dotted(func) in _READERS:
                of = arguments[0] if arguments else None
                is_ours = source.steps.is_step(of) or (isinstance(of, ast.Name) and of.id in source.steps.contexts)
                names = [one.value for one in arguments if isinstance(one, ast.Constant) and isinstance(one.value, str)]
                if any("step" in name.split(".") for name in names) or (is_ours and not names):
                    yield Problem(node.lineno, "a step is read from its context by a text", _FIX)
            case ast.MatchClass(kwd_attrs=names) if "step" in names:
                yield Problem(node.lineno, "a step is read from its context by a pattern", _FIX)
            case _:
                continue
