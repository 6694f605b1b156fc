"""Names that stand for a function's context and for its steps."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from skills.checks.declared import Declared

_FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)
_CONTEXTS = frozenset(("ContextSync", "Context"))
_STEPS = frozenset(("StepSync", "Step"))


@dataclass(frozen=True)
class StepNames:
    """`contexts` stand for `ctx`, `sure` for `ctx.step`; `steps` may, since a parameter is only called so."""

    contexts: frozenset[str]
    sure: frozenset[str]
    steps: frozenset[str]

    def is_step(self, node: ast.expr | None) -> bool:
        """Whether this is `ctx.step`, without doubt."""
        match node:
            case ast.Attribute(attr="step", value=ast.Name(id=name)):
                return name in self.contexts
            case ast.Name(id=name):
                return name in self.sure
            case ast.NamedExpr(value=value):
                return self.is_step(value)
            case _:
                return False


def step_names(nodes: Sequence[ast.AST], declared: Iterable[Declared]) -> StepNames:
    """Names are taken for the same in the whole file."""
    own = own_functions(nodes)
    handlers = [one for each in declared for one in (each.handler, each.on_failure) if one is not None]
    contexts = {parameters(handler)[0] for handler in handlers if parameters(handler)} | {"ctx"}
    contexts |= {name for node in nodes for name in _typed(node, _CONTEXTS)}
    sure = {name for node in nodes for name in _typed(node, _STEPS)}
    names = StepNames(frozenset(contexts), frozenset(), frozenset())
    handed: dict[str, set[str]] = defaultdict(set)
    for node in nodes:
        for value, name in _given(node, own):
            match value:
                case ast.Name(id=origin):
                    handed[origin].add(name)
                case _ if _is_any_step(value, names):
                    sure.add(name)
                case _:
                    continue
    waiting = list(sure)
    while waiting:
        more = handed[waiting.pop()] - sure
        sure |= more
        waiting += more
    maybe = {name for node in nodes for name in _called_step(node)}
    return StepNames(frozenset(contexts), frozenset(sure), frozenset(sure | maybe))


def own_functions(nodes: Sequence[ast.AST]) -> Mapping[str, ast.FunctionDef | ast.AsyncFunctionDef]:
    """The file's own functions by their names, wherever they stand; a method has no name of its own."""
    methods = {id(one) for node in nodes if isinstance(node, ast.ClassDef) for one in node.body}
    return {node.name: node for node in nodes if isinstance(node, _FUNCTION) and id(node) not in methods}


def parameters(function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> list[str]:
    """Those that can be given by position."""
    return [one.arg for one in (*function.args.posonlyargs, *function.args.args)]


def receivers(
    call: ast.Call, own: Mapping[str, ast.FunctionDef | ast.AsyncFunctionDef]
) -> Iterator[tuple[ast.expr, str]]:
    """Each argument of a call of an own function, with the parameter that it becomes."""
    if not isinstance(call.func, ast.Name) or (function := own.get(call.func.id)) is None:
        return
    plain = [one for one in call.args if not isinstance(one, ast.Starred)]
    if len(plain) == len(call.args):
        yield from zip(plain, parameters(function), strict=False)
    named = {*parameters(function), *(one.arg for one in function.args.kwonlyargs)}
    yield from ((one.value, one.arg) for one in call.keywords if one.arg is not None and one.arg in named)


def _given(node: ast.AST, own: Mapping[str, ast.FunctionDef | ast.AsyncFunctionDef]) -> Iterator[tuple[ast.expr, str]]:
    """What is given to a name here."""
    match node:
        case (
            ast.Assign(targets=[ast.Name(id=name)], value=value) | ast.NamedExpr(target=ast.Name(id=name), value=value)
        ):
            yield _inner(value), name
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
            yield _inner(value), name
        case ast.Call():
            yield from ((_inner(value), name) for value, name in receivers(node, own))
        case _:
            return


def _inner(value: ast.expr) -> ast.expr:
    return value.value if isinstance(value, ast.NamedExpr) else value


def _is_any_step(value: ast.expr, names: StepNames) -> bool:
    """Also that of a context which an object holds."""
    if isinstance(value, ast.Attribute) and value.attr == "step" and not isinstance(value.value, ast.Name):
        return isinstance(value.value, ast.Attribute) and value.value.attr in names.contexts
    return names.is_step(value)


def _typed(node: ast.AST, types: frozenset[str]) -> Iterator[str]:
    match node:
        case ast.arg(arg=name, annotation=ast.Attribute(attr=of) | ast.Name(id=of) | ast.Constant(value=str(of))):
            if of.rpartition(".")[2] in types:
                yield name
        case _:
            return


def _called_step(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.arg(arg="step"):
            yield "step"
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Attribute(attr="step")):
            yield name
        case _:
            return
