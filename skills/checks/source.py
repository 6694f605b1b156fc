"""A skill file as the checks see it: text, syntax tree, registered functions and step names."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from skills.checks.syntax import Names, read_names
from skills.format.manifest import SkillManifest
from skills.format.problem import RefusedSkillError, SkillProblem

CREATE = "skills.kit.client.create_function"

Handler = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


@dataclass(frozen=True)
class DeclaredFunction:
    """One call of `client.create_function`. `fn_id` is None if missing or computed, `handler` if not found."""

    call: ast.Call
    fn_id: str | None
    handler: Handler | None
    on_failure: Handler | None
    at_module_level: bool

    @property
    def options(self) -> Mapping[str, ast.expr]:
        """The keyword arguments of the call."""
        return {one.arg: one.value for one in self.call.keywords if one.arg is not None}

    @property
    def label(self) -> str:
        """Its name in problems: the id, else the name of the handler."""
        return self.fn_id or (getattr(self.handler, "name", None) or "a function")


def find_declared(tree: ast.Module, nodes: Iterable[ast.AST], names: Names) -> tuple[DeclaredFunction, ...]:
    """Return the registered functions in file order."""
    own = {one.name: one for one in tree.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)}
    handlers = _handlers(nodes, own)
    outer = {id(call) for statement in tree.body for call in _outer_calls(statement)}
    found = [
        DeclaredFunction(
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
    """Map the id() of each call to its handler: the function it decorates, or its result is called with."""
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
    """Return the expressions of a statement at module level that may register a function."""
    match statement:
        case ast.FunctionDef(decorator_list=decorators) | ast.AsyncFunctionDef(decorator_list=decorators):
            return list(decorators)
        case ast.Assign(value=ast.Call() as call) | ast.AnnAssign(value=ast.Call() as call):
            return [call, call.func]
        case ast.Expr(value=ast.Call() as call):
            return [call, call.func]
        case _:
            return []


_FUNCTION_NODES = (ast.FunctionDef, ast.AsyncFunctionDef)
_CONTEXTS = frozenset(("ContextSync", "Context"))
_STEPS = frozenset(("StepSync", "Step"))


@dataclass(frozen=True)
class StepNames:
    """Names in the file: `contexts` stand for `ctx`, `sure` for `ctx.step`, and `steps` also for what may be one."""

    contexts: frozenset[str]
    sure: frozenset[str]
    steps: frozenset[str]

    def is_step(self, node: ast.expr | None) -> bool:
        """Return whether this is certainly `ctx.step`."""
        match node:
            case ast.Attribute(attr="step", value=ast.Name(id=name)):
                return name in self.contexts
            case ast.Name(id=name):
                return name in self.sure
            case ast.NamedExpr(value=value):
                return self.is_step(value)
            case _:
                return False


def read_step_names(nodes: Sequence[ast.AST], declared: Iterable[DeclaredFunction]) -> StepNames:
    """Read the names of contexts and steps; a name means the same in the whole file."""
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
    maybe = {name for node in nodes for name in _possible_steps(node)}
    return StepNames(frozenset(contexts), frozenset(sure), frozenset(sure | maybe))


def own_functions(nodes: Sequence[ast.AST]) -> Mapping[str, ast.FunctionDef | ast.AsyncFunctionDef]:
    """Map names to the functions of the file, nested ones included, methods left out."""
    methods = {id(one) for node in nodes if isinstance(node, ast.ClassDef) for one in node.body}
    return {node.name: node for node in nodes if isinstance(node, _FUNCTION_NODES) and id(node) not in methods}


def parameters(function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> list[str]:
    """Return the names of the positional parameters."""
    return [one.arg for one in (*function.args.posonlyargs, *function.args.args)]


def receivers(
    call: ast.Call, own: Mapping[str, ast.FunctionDef | ast.AsyncFunctionDef]
) -> Iterator[tuple[ast.expr, str]]:
    """Yield each argument of a call of a function of the file, with its parameter."""
    if not isinstance(call.func, ast.Name) or (function := own.get(call.func.id)) is None:
        return
    plain = [one for one in call.args if not isinstance(one, ast.Starred)]
    if len(plain) == len(call.args):
        yield from zip(plain, parameters(function), strict=False)
    named = {*parameters(function), *(one.arg for one in function.args.kwonlyargs)}
    yield from ((one.value, one.arg) for one in call.keywords if one.arg is not None and one.arg in named)


def _given(node: ast.AST, own: Mapping[str, ast.FunctionDef | ast.AsyncFunctionDef]) -> Iterator[tuple[ast.expr, str]]:
    """Yield the values that this node binds, each with its name."""
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
    """Return whether this is a step, also that of a context held by an object."""
    if isinstance(value, ast.Attribute) and value.attr == "step" and not isinstance(value.value, ast.Name):
        return isinstance(value.value, ast.Attribute) and value.value.attr in names.contexts
    return names.is_step(value)


def _typed(node: ast.AST, types: frozenset[str]) -> Iterator[str]:
    """Yield the name of a parameter that is annotated with one of these types."""
    match node:
        case ast.arg(arg=name, annotation=ast.Attribute(attr=of) | ast.Name(id=of) | ast.Constant(value=str(of))):
            if of.rpartition(".")[2] in types:
                yield name
        case _:
            return


def _possible_steps(node: ast.AST) -> Iterator[str]:
    """Yield a name that may be `ctx.step`: a parameter called `step`, or a name set to an attribute `step`."""
    match node:
        case ast.arg(arg="step"):
            yield "step"
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Attribute(attr="step")):
            yield name
        case _:
            return


MOST_FUNCTIONS = 20
_MOST_NODES = 50_000


@dataclass(frozen=True)
class SkillSource:
    """One skill file, read once for all checks.

    `nodes` are all nodes of `tree`. `manifest` is None if it is missing or wrong, which is reported elsewhere.
    `declared` are the registered functions up to the limit, `too_many` those beyond it. `steps` are the names of
    contexts and steps. `others` maps stems to the files of the other skills.
    """

    stem: str
    lines: Sequence[str]
    tree: ast.Module
    nodes: Sequence[ast.AST]
    names: Names
    steps: StepNames
    declared: Sequence[DeclaredFunction]
    too_many: Sequence[DeclaredFunction]
    manifest: SkillManifest | None
    others: Mapping[str, Path]

    def shown(self, node: ast.expr) -> str:
        """Return the expression as it is written, cut to about one line."""
        line = self.lines[node.lineno - 1].encode() if node.lineno <= len(self.lines) else b""
        end = node.end_col_offset if node.end_lineno == node.lineno else None
        text = line[node.col_offset : end][:300].decode("utf-8", "ignore").strip()
        return text if len(text) <= 80 and end is not None else text[:79] + "…"


SourceCheck = Callable[[SkillSource], Iterator[SkillProblem]]


def read_source(
    text: str, tree: ast.Module, stem: str, manifest: SkillManifest | None, others: Mapping[str, Path]
) -> SkillSource:
    """Read a parsed file; raises RefusedSkillError if it holds more code than can be checked during a save."""
    nodes = list(ast.walk(tree))
    if len(nodes) > _MOST_NODES:
        reason = f"the file has {len(nodes)} pieces of code, more than {_MOST_NODES}"
        raise RefusedSkillError(SkillProblem(None, reason, "split it into several files, and keep data out of them"))
    names = read_names(tree, nodes)
    declared = find_declared(tree, nodes, names)
    return SkillSource(
        stem=stem,
        lines=text.split("\n"),
        tree=tree,
        nodes=nodes,
        names=names,
        steps=read_step_names(nodes, declared),
        declared=declared[:MOST_FUNCTIONS],
        too_many=declared[MOST_FUNCTIONS:],
        manifest=manifest,
        others=others,
    )
