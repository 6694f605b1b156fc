"""What happens while a skill file is loaded: definitions and constants, no work."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from skills.checks.declared import CREATE
from skills.checks.handed_on import NOTHING
from skills.checks.hidden_names import check_hidden_names
from skills.checks.known_calls import DECORATORS, FIX, METACLASSES
from skills.checks.loaded_values import LoadedValues
from skills.checks.own_code import Own, OwnCode
from skills.checks.own_targets import wrong_target
from skills.checks.source import Source
from skills.problem import Problem


def check_import_work(source: Source) -> Iterator[Problem]:
    yield from check_hidden_names(source)
    yield from _Loading(source).body(source.tree.body)


class _Loading:
    """A walk over exactly what Python runs when it loads the file."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._names = source.names
        self._own = OwnCode(source)
        self._values = LoadedValues(source, self._own)

    def body(self, statements: list[ast.stmt]) -> Iterator[Problem]:
        for statement in statements:
            yield from self._statement(statement)

    def _statement(self, node: ast.stmt) -> Iterator[Problem]:
        match node:
            case ast.Import() | ast.ImportFrom() | ast.Pass() | ast.Global() | ast.Expr(value=ast.Constant()):
                return
            case ast.Assign(targets=targets) if wrong := self._wrong(*targets):
                yield wrong
            case ast.AugAssign(target=target) | ast.AnnAssign(target=target) if wrong := wrong_target(
                self._source, [target]
            ):
                yield wrong
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield from self._function(node)
            case ast.ClassDef():
                yield from self._class(node)
            case ast.Assign(value=value) | ast.AugAssign(value=value):
                yield from self._values.look(value)
            case ast.AnnAssign(annotation=annotation, value=value):
                yield from self._values.annotation(annotation)
                if value is not None:
                    yield from self._values.look(value)
            case ast.If(test=test, orelse=loaded) if self._is_type_checking(test) or _is_started_alone(test):
                yield from self.body(loaded)
            case ast.Expr(value=ast.Call(func=ast.Call() as create, args=[_])) if self._dotted(create.func) == CREATE:
                yield from self._values.look(create)
            case _:
                yield Problem(node.lineno, self._what_runs(node), FIX)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[Problem]:
        for decorator in node.decorator_list:
            yield from self._decorator(decorator, node.name)
        yield from self._values.defaults(node.args)
        every = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg)
        for annotation in (node.returns, *(one.annotation for one in every if one is not None)):
            if annotation is not None:
                yield from self._values.annotation(annotation)

    def _class(self, node: ast.ClassDef) -> Iterator[Problem]:
        for decorator in node.decorator_list:
            yield from self._decorator(decorator, node.name)
        for base in (*node.bases, *(one.value for one in node.keywords)):
            yield from self._values.look(base)
        for base in node.bases:
            dotted = self._dotted(base) or ""
            if dotted in METACLASSES or dotted.endswith("ModelMetaclass"):
                yield Problem(base.lineno, "a class of classes runs while the file is loaded", FIX)
        for keyword in node.keywords:
            if self._own.level(keyword.value) or (keyword.arg == "metaclass" and not self._dotted(keyword.value)):
                reason = f"{keyword.arg} is asked while the file is loaded: {self._shown(keyword.value)}"
                yield Problem(keyword.value.lineno, reason, FIX)
        for line, name in self._own.hooks(node):
            yield Problem(line, f"{name} runs while the file is loaded", FIX)
        for statement in node.body:
            if _is_configuration(statement) and self._own.level(statement) == Own.CODE:
                yield Problem(statement.lineno, "this code is asked while the file is loaded", FIX)
        yield from self.body(node.body)

    def _decorator(self, node: ast.expr, name: str) -> Iterator[Problem]:
        called = node.func if isinstance(node, ast.Call) else node
        match node:
            case ast.Attribute(value=ast.Name(id=of), attr="setter" | "getter" | "deleter") if of == name:
                # Of the property above it, as long as no class of the file has such a method.
                if node.attr not in self._own.attributes:
                    return
            case _:
                pass
        dotted = self._dotted(called)
        if dotted != CREATE and dotted not in DECORATORS:
            yield Problem(node.lineno, f"the decorator {self._shown(called)} runs while the file is loaded", FIX)
        elif isinstance(node, ast.Call):
            yield from self._values.arguments(node)
            if dotted not in (CREATE, "functools.wraps"):
                yield from self._values.handed(node, NOTHING)

    def _wrong(self, *targets: ast.expr) -> Problem | None:
        return wrong_target(self._source, targets)

    def _dotted(self, node: ast.expr) -> str | None:
        return self._names.dotted(node)

    def _is_type_checking(self, test: ast.expr) -> bool:
        return self._dotted(test) in {"typing.TYPE_CHECKING", "typing_extensions.TYPE_CHECKING"}

    def _what_runs(self, node: ast.stmt) -> str:
        match node:
            case ast.While() | ast.For() | ast.AsyncFor():
                return "a loop runs while the file is loaded"
            case ast.Raise():
                return "the file raises while it is loaded"
            case ast.Expr(value=value):
                return f"this runs while the file is loaded: {self._shown(value)}"
            case ast.If() | ast.Try() | ast.TryStar() | ast.Match():
                return "the file decides something while it is loaded"
            case _:
                return f"{type(node).__name__} runs while the file is loaded"

    def _shown(self, node: ast.expr) -> str:
        return self._source.shown(node)


def _is_started_alone(test: ast.expr) -> bool:
    """Whether this asks for `__main__`, which a skill never is."""
    match test:
        case ast.Compare(left=ast.Name(id="__name__"), ops=[ast.Eq()], comparators=[ast.Constant(value="__main__")]):
            return True
        case _:
            return False


def _is_configuration(statement: ast.stmt) -> bool:
    """What pydantic asks for names and titles as soon as there is such a class."""
    match statement:
        case ast.Assign(targets=[ast.Name(id="model_config")]) | ast.AnnAssign(target=ast.Name(id="model_config")):
            return True
        case ast.ClassDef(name="Config"):
            return True
        case _:
            return False
