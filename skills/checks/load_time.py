"""Check what Python runs while it loads a skill file: definitions and constants, no work.

An interpreter of loading over the syntax tree: statements, then the expressions in them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from skills.checks.imports import HIDES, check_hidden_names
from skills.checks.load_time_code import (
    ASK_NOBODY_MODULES,
    CONTAINER_METHODS,
    KEEPS_NOTHING,
    KNOWN_DECORATORS,
    KNOWN_METACLASSES,
    LOAD_FIX,
    TAKE_TYPE_TEXTS,
    VALUE_METHODS,
    CodeLevel,
    KeptArguments,
    OwnCode,
    is_known_call,
    kept_arguments,
)
from skills.checks.source import CREATE, SkillSource
from skills.checks.syntax import Names, split_words
from skills.format.problem import SkillProblem

_LITERALS = frozenset(("typing.Literal", "typing_extensions.Literal"))
_LONGEST_TYPE = 1000


class TypesAsText:
    """Of one file."""

    def __init__(self, names: Names, own: OwnCode) -> None:
        self._names = names
        self._own = own

    def look(self, node: ast.AST) -> Iterator[SkillProblem]:
        """Types that are written as text are worked out like any other."""
        match node:
            case ast.Constant(value=str(text)) if _works(text) or self._may_read(text):
                yield SkillProblem(node.lineno, f"this is worked out while the file is loaded: {text[:60]}", LOAD_FIX)
            case ast.Subscript(value=of) if self._names.dotted(of) in _LITERALS:
                return
            case ast.Call() | ast.Lambda():
                return
            case _:
                for child in ast.iter_child_nodes(node):
                    yield from self.look(child)

    def _may_read(self, text: str) -> bool:
        """Whether a type that is written as text may name a property."""
        return "." in text and any(name in text for name in self._own.properties)


def _works(text: str) -> bool:
    """Whether this text is a type that somebody has to work out."""
    if "(" not in text or len(text) > _LONGEST_TYPE:
        return "(" in text and len(text) > _LONGEST_TYPE
    try:
        return any(isinstance(part, ast.Call) for part in ast.walk(ast.parse(text.strip(), mode="eval")))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


_OF_FILES = split_words("__all__ __author__ __doc__ __version__ __slots__ __match_args__ __hash__")


def wrong_target(source: SkillSource, targets: Iterable[ast.expr]) -> SkillProblem | None:
    """To set what belongs to somebody else is work, and may run code."""
    for target in targets:
        for one in ast.walk(target):
            if isinstance(one, ast.Attribute | ast.Subscript):
                reason = f"{source.shown(one)} is set while the file is loaded"
                return SkillProblem(one.lineno, reason, "set names of your own only")
            if isinstance(one, ast.Name) and _is_inner(one.id):
                return SkillProblem(one.lineno, f"{one.id} belongs to Python", HIDES)
    return None


def _is_inner(name: str) -> bool:
    return name.startswith("__") and name.endswith("__") and name not in _OF_FILES


_MOST_POWER = 64
# What a dictionary is made of is asked for these.
_OF_MAPPINGS = frozenset(("keys", "items"))
_TYPES = (ast.Name, ast.Attribute, ast.Subscript, ast.Call, ast.Constant)


class LoadedValues:
    """Of one file."""

    def __init__(self, source: SkillSource, own: OwnCode) -> None:
        self._source = source
        self._own = own
        self._text = TypesAsText(source.names, own)
        self._types_seen: set[str] = set()

    def look(self, node: ast.expr) -> Iterator[SkillProblem]:
        match node:
            case ast.Call():
                yield from self._called(node)
            case ast.Attribute() if self._own.reads_property(node):
                yield SkillProblem(node.lineno, f"{self._shown(node)} runs while the file is loaded", LOAD_FIX)
            case ast.BinOp(op=ast.Pow(), right=right) if not self._is_small(right):
                yield SkillProblem(
                    node.lineno, f"this is worked out while the file is loaded: {self._shown(node)}", LOAD_FIX
                )
            case ast.Await() | ast.Yield() | ast.YieldFrom() | ast.NamedExpr():
                yield SkillProblem(node.lineno, f"this runs while the file is loaded: {self._shown(node)}", LOAD_FIX)
            case ast.Lambda(args=arguments):
                yield from self.defaults(arguments)
            case ast.ListComp(generators=loops) | ast.SetComp(generators=loops) | ast.DictComp(generators=loops):
                yield from self._comprehension(node, loops)
            case ast.GeneratorExp(generators=loops):
                yield from self._comprehension(node, loops)
            case ast.Dict(keys=keys, values=values):
                for key, value in zip(keys, values, strict=True):
                    if key is None and self._own.may_be_asked(value, _OF_MAPPINGS):
                        yield SkillProblem(
                            value.lineno, f"this may run {self._shown(value)} while the file is loaded", LOAD_FIX
                        )
                yield from self._children(node)
            case ast.Subscript():
                yield from self._text.look(node)
                yield from self._children(node)
            case _:
                yield from self._children(node)

    def annotation(self, node: ast.expr) -> Iterator[SkillProblem]:
        """Python works it out where it stands, or a library later, from its text."""
        yield from self.look(node)
        yield from self._text.look(node)
        names = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)} - self._types_seen
        # What a name stands for is told where it is first used as a type.
        self._types_seen |= names
        for name in names:
            for value in self._own.values.get(name, ()):
                if isinstance(value, _TYPES) or (isinstance(value, ast.BinOp) and isinstance(value.op, ast.BitOr)):
                    yield from self._text.look(value)
                else:
                    yield SkillProblem(node.lineno, f"this type is computed: {self._shown(value)}", "write it out")

    def _called(self, node: ast.Call) -> Iterator[SkillProblem]:
        func = node.func
        if isinstance(func, ast.Call) and self._dotted(func.func) == CREATE:
            # The handler itself is not run.
            yield from self.arguments(func)
            yield from self.arguments(node)
            return
        if isinstance(func, ast.Attribute) and self._dotted(func) is None:
            known = func.attr in VALUE_METHODS and not self._is_own_method(func)
            yield from self.look(func.value)
        else:
            known = self._is_known(func)
            if isinstance(func, ast.Subscript):
                yield from self.look(func.slice)
        dotted = self._dotted(func) or ""
        if dotted == "builtins.filter":
            # That asks the values themselves, as `bool` does.
            known = isinstance(node.args[0], ast.Constant) and node.args[0].value is None if node.args else False
        if dotted in TAKE_TYPE_TEXTS or dotted.startswith(("typing.", "typing_extensions.")):
            for argument in (*node.args, *(one.value for one in node.keywords)):
                yield from self._text.look(argument)
        if dotted == "builtins.type" and len(node.args) != 1:
            known = False
        if not known:
            yield SkillProblem(node.lineno, f"{self._shown(func)} is called while the file is loaded", LOAD_FIX)
        else:
            yield from self.handed(node, kept_arguments(self._dotted(func)))
        yield from self.arguments(node)

    def _is_own_method(self, func: ast.Attribute) -> bool:
        level = self._own.level(func.value)
        return level != CodeLevel.NO and (
            func.attr in self._own.attributes or (level, func.attr in CONTAINER_METHODS) == (CodeLevel.CODE, False)
        )

    def handed(self, call: ast.Call, asked: KeptArguments) -> Iterator[SkillProblem]:
        """What is handed to somebody who may call it at once."""
        dotted = self._dotted(call.func) or ""
        given: Iterable[tuple[str | None, ast.expr]] = [
            *((None, one) for one in call.args),
            *((one.arg or "**", one.value) for one in call.keywords),
        ]
        for name, value in given:
            kept = asked.lets(name)
            if name == "**" or dotted == "builtins.dict":
                may_run = self._own.may_be_asked(value, _OF_MAPPINGS)
            else:
                may_run = not kept and not dotted.startswith(ASK_NOBODY_MODULES) and self._own.may_be_asked(value)
            if may_run or (self._own.level(value) == CodeLevel.CODE and not kept):
                reason = f"{self._shown(call.func)} may run {self._shown(value)} while the file is loaded"
                yield SkillProblem(value.lineno, reason, LOAD_FIX)

    def defaults(self, arguments: ast.arguments) -> Iterator[SkillProblem]:
        for default in (*arguments.defaults, *arguments.kw_defaults):
            if default is not None:
                yield from self.look(default)

    def _comprehension(self, node: ast.expr, loops: list[ast.comprehension]) -> Iterator[SkillProblem]:
        if len(loops) > 1 or any(self._counts(loop) for loop in loops):
            yield SkillProblem(
                node.lineno, f"this is worked out while the file is loaded: {self._shown(node)}", LOAD_FIX
            )
            return
        for loop in loops:
            for part in (loop.iter, *loop.ifs):
                yield from self.look(part)
        yield from self._children(node)

    def _children(self, node: ast.AST) -> Iterator[SkillProblem]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                yield from self.look(child)

    def arguments(self, call: ast.Call) -> Iterator[SkillProblem]:
        for argument in (*call.args, *(one.value for one in call.keywords)):
            yield from self.look(argument)

    def _is_known(self, func: ast.expr) -> bool:
        if isinstance(func, ast.Name) and func.id in self._own.classes:
            return self._own.is_thing(func.id)
        if isinstance(func, ast.Subscript):
            return self._is_known(func.value)
        dotted = self._dotted(func)
        return dotted is not None and is_known_call(dotted)

    def _dotted(self, node: ast.expr) -> str | None:
        return self._source.names.dotted(node)

    def _counts(self, loop: ast.comprehension) -> bool:
        """Whether it may go on for long, or sets what is not the file's own."""
        calls = (self._dotted(one.func) for one in ast.walk(loop.iter) if isinstance(one, ast.Call))
        return "builtins.range" in calls or wrong_target(self._source, [loop.target]) is not None

    def _is_small(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Constant) and isinstance(node.value, int | float) and node.value <= _MOST_POWER

    def _shown(self, node: ast.expr) -> str:
        return self._source.shown(node)


def check_import_work(source: SkillSource) -> Iterator[SkillProblem]:
    yield from check_hidden_names(source)
    yield from _Loading(source).body(source.tree.body)


class _Loading:
    """A walk over exactly what Python runs when it loads the file."""

    def __init__(self, source: SkillSource) -> None:
        self._source = source
        self._names = source.names
        self._own = OwnCode(source)
        self._values = LoadedValues(source, self._own)

    def body(self, statements: list[ast.stmt]) -> Iterator[SkillProblem]:
        for statement in statements:
            yield from self._statement(statement)

    def _statement(self, node: ast.stmt) -> Iterator[SkillProblem]:
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
                yield SkillProblem(node.lineno, self._what_runs(node), LOAD_FIX)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[SkillProblem]:
        for decorator in node.decorator_list:
            yield from self._decorator(decorator, node.name)
        yield from self._values.defaults(node.args)
        every = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg)
        for annotation in (node.returns, *(one.annotation for one in every if one is not None)):
            if annotation is not None:
                yield from self._values.annotation(annotation)

    def _class(self, node: ast.ClassDef) -> Iterator[SkillProblem]:
        for decorator in node.decorator_list:
            yield from self._decorator(decorator, node.name)
        for base in (*node.bases, *(one.value for one in node.keywords)):
            yield from self._values.look(base)
        for base in node.bases:
            dotted = self._dotted(base) or ""
            if dotted in KNOWN_METACLASSES or dotted.endswith("ModelMetaclass"):
                yield SkillProblem(base.lineno, "a class of classes runs while the file is loaded", LOAD_FIX)
        for keyword in node.keywords:
            if self._own.level(keyword.value) or (keyword.arg == "metaclass" and not self._dotted(keyword.value)):
                reason = f"{keyword.arg} is asked while the file is loaded: {self._shown(keyword.value)}"
                yield SkillProblem(keyword.value.lineno, reason, LOAD_FIX)
        for line, name in self._own.hooks(node):
            yield SkillProblem(line, f"{name} runs while the file is loaded", LOAD_FIX)
        for statement in node.body:
            if _is_configuration(statement) and self._own.level(statement) == CodeLevel.CODE:
                yield SkillProblem(statement.lineno, "this code is asked while the file is loaded", LOAD_FIX)
        yield from self.body(node.body)

    def _decorator(self, node: ast.expr, name: str) -> Iterator[SkillProblem]:
        called = node.func if isinstance(node, ast.Call) else node
        match node:
            case ast.Attribute(value=ast.Name(id=of), attr="setter" | "getter" | "deleter") if of == name:
                # Of the property above it, as long as no class of the file has such a method.
                if node.attr not in self._own.attributes:
                    return
            case _:
                pass
        dotted = self._dotted(called)
        if dotted != CREATE and dotted not in KNOWN_DECORATORS:
            yield SkillProblem(
                node.lineno, f"the decorator {self._shown(called)} runs while the file is loaded", LOAD_FIX
            )
        elif isinstance(node, ast.Call):
            yield from self._values.arguments(node)
            if dotted not in (CREATE, "functools.wraps"):
                yield from self._values.handed(node, KEEPS_NOTHING)

    def _wrong(self, *targets: ast.expr) -> SkillProblem | None:
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
