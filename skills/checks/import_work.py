"""What happens while a skill file is loaded: definitions and constants, no work."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from skills.checks.declared import CREATE
from skills.checks.source import Source
from skills.checks.word_list import words
from skills.problem import Problem

_FIX = "do it in a step: loading the file only defines functions and constants"
_MOST_POWER = 64

_BUILTINS = words(
    """abs bool bytes classmethod dict divmod enumerate filter float format frozenset int isinstance len list max min
    object ord chr property reversed round set slice sorted staticmethod str sum super tuple type zip range"""
)
# Modules whose calls only make values.
_MODULES = words(
    """dataclasses decimal enum fractions inngest ipaddress math operator pydantic re statistics string textwrap typing
    typing_extensions uuid zoneinfo functools abc contextlib types"""
)
_CALLS = words(
    """datetime.timedelta datetime.date datetime.time datetime.datetime datetime.timezone collections.namedtuple
    collections.OrderedDict collections.defaultdict collections.Counter collections.deque logging.getLogger json.dumps
    json.loads hashlib.sha256 urllib.parse.quote urllib.parse.urlencode random.Random"""
)
_NOT = frozenset(("inngest.Inngest", "math.factorial", "math.comb", "math.perm", "functools.reduce"))
_METHODS = words(
    """capitalize casefold copy decode encode endswith format fromisoformat fromkeys get isoformat items join keys lower
    lstrip partition removeprefix removesuffix replace rpartition rsplit rstrip split splitlines startswith strip title
    total_seconds union upper values zfill"""
)
_OWN_BEGINNINGS = frozenset(
    ("__init__", "__new__", "__post_init__", "__init_subclass__", "__set_name__", "model_post_init")
)


def check_import_work(source: Source) -> Iterator[Problem]:
    yield from _Loading(source).body(source.tree.body)


class _Loading:
    """A walk over exactly what Python runs when it loads the file."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._names = source.names
        self._classes: Mapping[str, ast.ClassDef] = {
            node.name: node for node in source.nodes if isinstance(node, ast.ClassDef)
        }

    def body(self, statements: list[ast.stmt]) -> Iterator[Problem]:
        for statement in statements:
            yield from self._statement(statement)

    def _statement(self, node: ast.stmt) -> Iterator[Problem]:
        match node:
            case ast.Import() | ast.ImportFrom() | ast.Pass() | ast.Global() | ast.Expr(value=ast.Constant()):
                return
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield from self._function(node)
            case ast.ClassDef():
                yield from self._class(node)
            case ast.Assign(value=value) | ast.AugAssign(value=value):
                yield from self._value(value)
            case ast.AnnAssign(value=value):
                if value is not None:
                    yield from self._value(value)
            case ast.If(test=test) if self._is_type_checking(test):
                return
            case ast.Expr(value=ast.Call(func=ast.Call() as create, args=[_])) if self._dotted(create.func) == CREATE:
                yield from self._value(create)
            case _:
                yield Problem(node.lineno, self._what_runs(node), _FIX)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[Problem]:
        for decorator in node.decorator_list:
            yield from self._decorator(decorator)
        yield from self._defaults(node.args)

    def _class(self, node: ast.ClassDef) -> Iterator[Problem]:
        for decorator in node.decorator_list:
            yield from self._decorator(decorator)
        for base in (*node.bases, *(one.value for one in node.keywords)):
            yield from self._value(base)
        yield from self.body(node.body)

    def _decorator(self, node: ast.expr) -> Iterator[Problem]:
        called = node.func if isinstance(node, ast.Call) else node
        if isinstance(called, ast.Attribute) and called.attr in {"setter", "getter", "deleter"}:
            return
        if not self._is_known(called):
            yield Problem(node.lineno, f"the decorator {self._shown(called)} runs while the file is loaded", _FIX)
        elif isinstance(node, ast.Call):
            yield from self._arguments(node)

    def _value(self, node: ast.expr) -> Iterator[Problem]:
        match node:
            case ast.Call():
                yield from self._called(node)
            case ast.BinOp(op=ast.Pow(), right=right) if not self._is_small(right):
                yield Problem(node.lineno, f"this is worked out while the file is loaded: {self._shown(node)}", _FIX)
            case ast.Await() | ast.Yield() | ast.YieldFrom() | ast.NamedExpr():
                yield Problem(node.lineno, f"this runs while the file is loaded: {self._shown(node)}", _FIX)
            case ast.Lambda(args=arguments):
                yield from self._defaults(arguments)
            case ast.ListComp(generators=loops) | ast.SetComp(generators=loops) | ast.DictComp(generators=loops):
                yield from self._comprehension(node, loops)
            case ast.GeneratorExp(generators=loops):
                yield from self._comprehension(node, loops)
            case _:
                yield from self._children(node)

    def _called(self, node: ast.Call) -> Iterator[Problem]:
        func = node.func
        if isinstance(func, ast.Call) and self._dotted(func.func) == CREATE:
            # The handler itself is not run.
            yield from self._arguments(func)
            return
        if isinstance(func, ast.Attribute) and self._dotted(func) is None:
            known = func.attr in _METHODS
            yield from self._value(func.value)
        else:
            known = self._is_known(func)
        if not known:
            yield Problem(node.lineno, f"{self._shown(func)} is called while the file is loaded", _FIX)
        yield from self._arguments(node)

    def _defaults(self, arguments: ast.arguments) -> Iterator[Problem]:
        for default in (*arguments.defaults, *arguments.kw_defaults):
            if default is not None:
                yield from self._value(default)

    def _comprehension(self, node: ast.expr, loops: list[ast.comprehension]) -> Iterator[Problem]:
        if len(loops) > 1 or any(self._counts(loop.iter) for loop in loops):
            yield Problem(node.lineno, f"this is worked out while the file is loaded: {self._shown(node)}", _FIX)
            return
        for loop in loops:
            for part in (loop.iter, *loop.ifs):
                yield from self._value(part)
        yield from self._children(node)

    def _children(self, node: ast.AST) -> Iterator[Problem]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                yield from self._value(child)

    def _arguments(self, call: ast.Call) -> Iterator[Problem]:
        for argument in (*call.args, *(one.value for one in call.keywords)):
            yield from self._value(argument)

    def _is_known(self, func: ast.expr) -> bool:
        if isinstance(func, ast.Name) and (own := self._classes.get(func.id)) is not None:
            return not any(getattr(one, "name", "") in _OWN_BEGINNINGS for one in own.body)
        if isinstance(func, ast.Subscript):
            return self._is_known(func.value)
        dotted = self._dotted(func)
        if dotted is None or dotted in _NOT:
            return False
        module, _, name = dotted.rpartition(".")
        if module == "builtins":
            return name in _BUILTINS
        return dotted in _CALLS or dotted == CREATE or dotted.partition(".")[0] in _MODULES

    def _dotted(self, node: ast.expr) -> str | None:
        return self._names.dotted(node)

    def _counts(self, node: ast.expr) -> bool:
        return any(isinstance(one, ast.Call) and self._dotted(one.func) == "builtins.range" for one in ast.walk(node))

    def _is_small(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Constant) and isinstance(node.value, int | float) and node.value <= _MOST_POWER

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
