"""Check the module level of a skill file: it may define functions, classes and constants, and do no work.

The rules read what is written and follow no values: they answer an author's slip on its line. Code that runs in a
way they cannot see, such as a function taken from a dictionary, is confined by the jail.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from skills.checks.imports import HIDES
from skills.checks.load_names import (
    DECORATORS,
    VALUE_METHODS,
    OwnNames,
    calls_argument,
    is_pure_call,
    keeps_code,
    names_bound_by,
)
from skills.checks.source import CREATE, SkillSource
from skills.checks.syntax import split_words
from skills.format.problem import SkillProblem

_FIX = "do it in a step: loading the file only defines functions and constants"
_CALL_FIX = "write the value out, or call it in a step: while it is loaded, a file only calls what makes plain values"
_CLASS_FIX = (
    "make the object in a step or a function; a constant may be one of a dataclass, pydantic model, NamedTuple or Enum"
    " without validators, factories and `__…__` methods of the file's own"
)
_KEY_FIX = "give it a function of Python's, such as str.lower or operator.itemgetter(1), or do it in a step"
_LARGEST_POWER = 64
_FILE_NAMES = split_words("__all__ __author__ __doc__ __version__ __slots__ __match_args__ __hash__")
# Python, an enum and pydantic call them as soon as there is such a class.
_CLASS_HOOKS = split_words(
    """__init_subclass__ __set_name__ __class_getitem__ __prepare__ __mro_entries__ __instancecheck__ __subclasscheck__
    __subclasshook__ __get_validators__ _generate_next_value_ __build_class__"""
)
_ENUM_HOOKS = split_words("__new__ __init__ __eq__ __hash__ __or__")
_PYDANTIC_HOOKS = ("__pydantic", "__get_pydantic")


def check_load_rules(source: SkillSource) -> Iterator[SkillProblem]:
    """Yield what a file does at module level beyond defining things."""
    yield from _ModuleLevel(source).check_body(source.tree.body)


def wrong_target(source: SkillSource, targets: Iterable[ast.expr]) -> SkillProblem | None:
    """Return the problem of setting anything but a plain name: it may run code, or change a library."""
    for target in targets:
        for one in ast.walk(target):
            if isinstance(one, ast.Attribute | ast.Subscript):
                reason = f"{source.shown(one)} is set while the file is loaded"
                return SkillProblem(one.lineno, reason, "set names of your own only")
            if isinstance(one, ast.Name) and one.id[:2] == one.id[-2:] == "__" and one.id not in _FILE_NAMES:
                return SkillProblem(one.lineno, f"{one.id} belongs to Python", HIDES)
    return None


class _ModuleLevel:
    """Everything that Python works out while it loads one file: all but the bodies of functions."""

    def __init__(self, source: SkillSource) -> None:
        self._source = source
        self._own = OwnNames(source)
        self._dotted = self._own.dotted
        self._shown = source.shown
        self._types_seen: set[str] = set()

    def check_body(self, statements: Iterable[ast.stmt]) -> Iterator[SkillProblem]:
        """Check the statements of the module or of a class."""
        for statement in statements:
            yield from self._check_statement(statement)

    def _check_statement(self, node: ast.stmt) -> Iterator[SkillProblem]:
        match node:
            case ast.Import() | ast.ImportFrom() | ast.Pass() | ast.Global() | ast.Expr(value=ast.Constant()):
                return
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield from self._check_function(node)
            case ast.ClassDef():
                yield from self._check_class(node)
            case ast.Assign(targets=targets) if problem := wrong_target(self._source, targets):
                yield problem
            case ast.AugAssign(target=one) | ast.AnnAssign(target=one) if problem := wrong_target(self._source, [one]):
                yield problem
            case ast.Assign(value=value) | ast.AugAssign(value=value):
                yield from self._check_value(value)
            case ast.AnnAssign(annotation=annotation, value=value):
                yield from self._check_annotation(annotation)
                yield from self._check_values([value])
            case ast.If(test=test, orelse=loaded) if self._is_never_true(test):
                yield from self.check_body(loaded)
            case ast.Expr(value=ast.Call(func=ast.Call(func=func), args=[_]) as call) if self._dotted(func) == CREATE:
                yield from self._check_value(call)
            case _:
                yield SkillProblem(node.lineno, self._what_runs(node), _FIX)

    def _is_never_true(self, test: ast.expr) -> bool:
        """Return whether a block is left out when the file is loaded as a skill."""
        match test:
            case ast.Compare(left=ast.Name(id="__name__"), ops=[ast.Eq()], comparators=[ast.Constant("__main__")]):
                return True
            case _:
                return self._dotted(test) == "typing.TYPE_CHECKING"

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

    def _check_function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[SkillProblem]:
        yield from self._check_decorators(node)
        parameters = node.args
        yield from self._check_values([*parameters.defaults, *parameters.kw_defaults])
        every = (*parameters.posonlyargs, *parameters.args, *parameters.kwonlyargs, parameters.vararg, parameters.kwarg)
        for annotation in (node.returns, *(one.annotation for one in every if one is not None)):
            if annotation is not None:
                yield from self._check_annotation(annotation)

    def _check_class(self, node: ast.ClassDef) -> Iterator[SkillProblem]:
        yield from self._check_decorators(node)
        yield from self._check_values(node.bases)
        for keyword in node.keywords:
            yield from self._check_value(keyword.value)
            own_metaclass = keyword.arg == "metaclass" and not self._dotted(keyword.value)
            if own_metaclass or self._own.holds_code(keyword.value):
                reason = f"{keyword.arg} is asked while the file is loaded: {self._shown(keyword.value)}"
                yield SkillProblem(keyword.value.lineno, reason, _FIX)
        hooks = _CLASS_HOOKS | _ENUM_HOOKS if self._own.is_enum(node) else _CLASS_HOOKS
        for statement in node.body:
            for name in names_bound_by(statement):
                if (name in hooks or name.startswith(_PYDANTIC_HOOKS)) and name not in _FILE_NAMES:
                    yield SkillProblem(statement.lineno, f"{name} runs while the file is loaded", _FIX)
                if name in ("model_config", "Config") and self._own.holds_code(statement):
                    yield SkillProblem(statement.lineno, "this code is asked while the file is loaded", _FIX)
        yield from self.check_body(node.body)

    def _check_decorators(self, node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[SkillProblem]:
        for decorator in node.decorator_list:
            match decorator:
                case ast.Attribute(value=ast.Name(id=of), attr="setter" | "getter" | "deleter") if of == node.name:
                    continue
                case ast.Call(func=func) if self._dotted(func) in DECORATORS:
                    yield from self._check_arguments(decorator)
                case _ if self._dotted(decorator) not in DECORATORS:
                    func = decorator.func if isinstance(decorator, ast.Call) else decorator
                    reason = f"the decorator {self._shown(func)} runs while the file is loaded"
                    yield SkillProblem(decorator.lineno, reason, _FIX)

    def _check_values(self, nodes: Iterable[ast.AST | None]) -> Iterator[SkillProblem]:
        for node in nodes:
            if isinstance(node, ast.expr):
                yield from self._check_value(node)

    def _check_value(self, node: ast.expr) -> Iterator[SkillProblem]:
        match node:
            case ast.Lambda(args=parameters):
                yield from self._check_values([*parameters.defaults, *parameters.kw_defaults])
                return
            case ast.Call():
                yield from self._check_call(node)
                return
            case ast.Attribute(attr=name) if name in self._own.properties and not self._dotted(node):
                yield SkillProblem(node.lineno, f"{self._shown(node)} runs while the file is loaded", _FIX)
            case ast.Await() | ast.Yield() | ast.YieldFrom() | ast.NamedExpr():
                yield SkillProblem(node.lineno, f"this runs while the file is loaded: {self._shown(node)}", _FIX)
            case ast.BinOp(op=ast.Pow(), right=right) if not _is_small(right):
                yield self._computed_problem(node)
            case ast.ListComp(generators=loops) | ast.SetComp(generators=loops) | ast.GeneratorExp(generators=loops):
                yield from self._check_loops(node, loops)
            case ast.DictComp(generators=loops):
                yield from self._check_loops(node, loops)
            case ast.Subscript():
                yield from self._check_type_texts(node)
            case _:
                pass
        yield from self._check_values(ast.iter_child_nodes(node))

    def _check_loops(self, node: ast.expr, loops: list[ast.comprehension]) -> Iterator[SkillProblem]:
        calls = (self._dotted(one.func) for one in ast.walk(loops[0].iter) if isinstance(one, ast.Call))
        if len(loops) > 1 or "builtins.range" in calls or wrong_target(self._source, [loops[0].target]):
            yield self._computed_problem(node)
        else:
            yield from self._check_values([loops[0].iter, *loops[0].ifs])

    def _check_call(self, node: ast.Call) -> Iterator[SkillProblem]:
        func = node.func
        if isinstance(func, ast.Call) and self._dotted(func.func) == CREATE:
            # The handler is registered, not run.
            yield from self._check_arguments(func)
            yield from self._check_values(node.args)
            return
        if self._may_call(func):
            yield from self._check_arguments(node)
        else:
            fix = _CLASS_FIX if isinstance(func, ast.Name) and func.id in self._own.classes else _CALL_FIX
            yield SkillProblem(node.lineno, f"{self._shown(func)} is called while the file is loaded", fix)
            yield from self._check_values([*node.args, *(one.value for one in node.keywords)])
        yield from self._check_value(func)

    def _may_call(self, func: ast.expr) -> bool:
        """Return whether a call runs nothing of the file's and only makes a value."""
        match func:
            case ast.Name(id=name) if name in self._own.records:
                return True
            case ast.Subscript(value=of):
                return self._may_call(of)
            case ast.Attribute(value=of, attr=method) if not self._dotted(func):
                own = method in self._own.methods or (isinstance(of, ast.Name) and of.id in self._own.classes)
                return method in VALUE_METHODS and not own
            case _:
                return is_pure_call(self._dotted(func))

    def _check_arguments(self, call: ast.Call) -> Iterator[SkillProblem]:
        """Check the arguments of an allowed call. Records of the file only keep what they are given."""
        dotted = self._dotted(call.func)
        given: list[tuple[str | int, ast.expr]] = [*enumerate(call.args)]
        given += [(one.arg or "**", one.value) for one in call.keywords]
        for argument, value in given:
            if dotted.startswith("typing.") or dotted == "pydantic.TypeAdapter":
                yield from self._check_type_texts(value)
            if calls_argument(dotted, argument):
                allowed, fix = self._is_plain_function(value), _KEY_FIX
            else:
                allowed = not dotted or keeps_code(dotted, argument) or not self._own.holds_code(value)
                fix = _FIX
            if not allowed:
                reason = f"{self._shown(call.func)} may run {self._shown(value)} while the file is loaded"
                yield SkillProblem(value.lineno, reason, fix)
            yield from self._check_value(value)

    def _is_plain_function(self, node: ast.expr) -> bool:
        """Return whether this is None, or a function that the file itself could call here."""
        match node:
            case ast.Constant():
                return True
            case ast.Call(func=func):
                return self._dotted(func) in ("operator.itemgetter", "operator.attrgetter")
            case _:
                return self._may_call(node)

    def _check_annotation(self, node: ast.expr) -> Iterator[SkillProblem]:
        """Check a type: Python works it out here, or a library does later from its text."""
        yield from self._check_value(node)
        yield from self._check_type_texts(node)
        names = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)} - self._types_seen
        self._types_seen |= names
        for name in names & self._source.names.constants.keys():
            value = self._source.names.constants[name]
            if isinstance(value, ast.BinOp) and not isinstance(value.op, ast.BitOr):
                yield SkillProblem(node.lineno, f"this type is computed: {self._shown(value)}", "write it out")
            else:
                yield from self._check_type_texts(value)

    def _check_type_texts(self, node: ast.AST) -> Iterator[SkillProblem]:
        """Check the parts of a type that are written as text, but for literals, notes and arguments of calls."""
        match node:
            case ast.Constant(value=str(text)) if _runs_as_type(text):
                reason = f"this is worked out while the file is loaded: {text[:60]}"
                yield SkillProblem(node.lineno, reason, "write a type that calls nothing")
            case ast.Subscript(value=of) if self._dotted(of) == "typing.Literal":
                return
            case ast.Subscript(value=of, slice=ast.Tuple(elts=[first, *_])) if self._dotted(of) == "typing.Annotated":
                yield from self._check_type_texts(first)
            case ast.Call() | ast.Lambda():
                return
            case _:
                for child in ast.iter_child_nodes(node):
                    yield from self._check_type_texts(child)

    def _computed_problem(self, node: ast.expr) -> SkillProblem:
        return SkillProblem(node.lineno, f"this is worked out while the file is loaded: {self._shown(node)}", _FIX)


def _is_small(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float) and node.value <= _LARGEST_POWER


def _runs_as_type(text: str) -> bool:
    """Return whether a type written as text calls something."""
    try:
        return "(" in text and any(
            isinstance(part, ast.Call) for part in ast.walk(ast.parse(text.strip(), mode="eval"))
        )
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
