"""What happens while a skill file is loaded: definitions and constants, no work."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Iterator

from skills.checks.declared import CREATE
from skills.checks.handed_on import NOTHING, Asked, takes_code
from skills.checks.own_code import Own, OwnCode
from skills.checks.source import Source
from skills.checks.word_list import words
from skills.problem import Problem

_FIX = "do it in a step: loading the file only defines functions and constants"
_HIDES = "give it a name that nothing else has"
_MOST_POWER = 64

_BUILTINS = words(
    """abs bool bytes classmethod dict divmod enumerate float format frozenset int isinstance len list max min
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
_NOT = words(
    """inngest.Inngest math.factorial math.comb math.perm functools.reduce operator.call operator.methodcaller
    typing.ForwardRef typing.get_type_hints typing_extensions.get_type_hints types.new_class types.prepare_class"""
)
_METHODS = words(
    """capitalize casefold copy decode encode endswith format fromisoformat fromkeys get isoformat items join keys lower
    lstrip partition removeprefix removesuffix replace rpartition rsplit rstrip split splitlines startswith strip title
    total_seconds union upper values zfill"""
)
# What a container that holds own code may be asked all the same.
_LOOKS = words("get items keys copy")
_METACLASSES = words("builtins.type enum.EnumMeta enum.EnumType abc.ABCMeta")
_DECORATORS = words(
    """dataclasses.dataclass pydantic.dataclasses.dataclass functools.cache functools.lru_cache functools.wraps
    functools.total_ordering functools.cached_property functools.singledispatch builtins.property builtins.staticmethod
    builtins.classmethod abc.abstractmethod contextlib.contextmanager typing.final typing.overload typing.override
    typing.runtime_checkable typing_extensions.final typing_extensions.overload typing_extensions.override
    typing_extensions.runtime_checkable pydantic.field_validator pydantic.model_validator pydantic.field_serializer
    pydantic.model_serializer pydantic.computed_field pydantic.validate_call enum.unique enum.verify enum.member
    enum.nonmember enum.property"""
)
_OF_FILES = words("__all__ __author__ __doc__ __version__ __slots__ __match_args__ __hash__")
# What a dictionary is made of is asked for these.
_OF_MAPPINGS = frozenset(("keys", "items"))
# Modules that call nothing by its name.
_ASK_NOBODY = ("builtins.", "inngest.", "pydantic.", "dataclasses.")
# They work out types that are given as text.
_TAKE_TYPES = words("pydantic.TypeAdapter pydantic.create_model")
_LITERALS = frozenset(("typing.Literal", "typing_extensions.Literal"))
_TYPES = (ast.Name, ast.Attribute, ast.Subscript, ast.Call, ast.Constant)
_LONGEST_TYPE = 1000


def check_import_work(source: Source) -> Iterator[Problem]:
    yield from _hidden(source)
    yield from _Loading(source).body(source.tree.body)


def _hidden(source: Source) -> Iterator[Problem]:
    """Imports that give a name a second meaning: then nobody can tell what is called."""
    at_the_top = {id(node) for node in source.tree.body}
    known: dict[str, str] = {}
    for node in source.nodes:
        match node:
            case ast.Import(names=names):
                bound = [(one.asname, one.name) if one.asname else (one.name.partition(".")[0],) * 2 for one in names]
            case ast.ImportFrom(module=module, names=names):
                bound = [(one.asname or one.name, f"{module}.{one.name}") for one in names]
            case _:
                continue
        for name, dotted in bound:
            if known.setdefault(name, dotted) != dotted:
                yield Problem(node.lineno, f"{name} is imported twice, as two things", _HIDES)
            if id(node) not in at_the_top and hasattr(builtins, name):
                yield Problem(node.lineno, f"this import hides Python's own {name}", _HIDES)


class _Loading:
    """A walk over exactly what Python runs when it loads the file."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._names = source.names
        self._own = OwnCode(source)

    def body(self, statements: list[ast.stmt]) -> Iterator[Problem]:
        for statement in statements:
            yield from self._statement(statement)

    def _statement(self, node: ast.stmt) -> Iterator[Problem]:
        match node:
            case ast.Import() | ast.ImportFrom() | ast.Pass() | ast.Global() | ast.Expr(value=ast.Constant()):
                return
            case ast.Assign(targets=targets) if wrong := self._wrong_target(targets):
                yield wrong
            case ast.AugAssign(target=target) | ast.AnnAssign(target=target) if wrong := self._wrong_target([target]):
                yield wrong
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield from self._function(node)
            case ast.ClassDef():
                yield from self._class(node)
            case ast.Assign(value=value) | ast.AugAssign(value=value):
                yield from self._value(value)
            case ast.AnnAssign(annotation=annotation, value=value):
                yield from self._annotation(annotation)
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
            yield from self._decorator(decorator, node.name)
        yield from self._defaults(node.args)
        every = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg)
        for annotation in (node.returns, *(one.annotation for one in every if one is not None)):
            if annotation is not None:
                yield from self._annotation(annotation)

    def _class(self, node: ast.ClassDef) -> Iterator[Problem]:
        for decorator in node.decorator_list:
            yield from self._decorator(decorator, node.name)
        for base in (*node.bases, *(one.value for one in node.keywords)):
            yield from self._value(base)
        for base in node.bases:
            dotted = self._dotted(base) or ""
            if dotted in _METACLASSES or dotted.endswith("ModelMetaclass"):
                yield Problem(base.lineno, "a class of classes runs while the file is loaded", _FIX)
        for keyword in node.keywords:
            if self._own.level(keyword.value) or (keyword.arg == "metaclass" and not self._dotted(keyword.value)):
                reason = f"{keyword.arg} is asked while the file is loaded: {self._shown(keyword.value)}"
                yield Problem(keyword.value.lineno, reason, _FIX)
        for line, name in self._own.hooks(node):
            yield Problem(line, f"{name} runs while the file is loaded", _FIX)
        for statement in node.body:
            if _is_configuration(statement) and self._own.level(statement) == Own.CODE:
                yield Problem(statement.lineno, "this code is asked while the file is loaded", _FIX)
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
        if dotted != CREATE and dotted not in _DECORATORS:
            yield Problem(node.lineno, f"the decorator {self._shown(called)} runs while the file is loaded", _FIX)
        elif isinstance(node, ast.Call):
            yield from self._arguments(node)
            if dotted not in (CREATE, "functools.wraps"):
                yield from self._handed(node, NOTHING)

    def _annotation(self, node: ast.expr) -> Iterator[Problem]:
        """Python works it out where it stands, or a library later, from its text."""
        yield from self._value(node)
        yield from self._in_text(node)
        for name in {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}:
            for value in self._own.values.get(name, ()):
                if isinstance(value, _TYPES) or (isinstance(value, ast.BinOp) and isinstance(value.op, ast.BitOr)):
                    yield from self._in_text(value)
                else:
                    yield Problem(node.lineno, f"this type is computed: {self._shown(value)}", "write it out")

    def _in_text(self, node: ast.AST) -> Iterator[Problem]:
        """Types that are written as text are worked out like any other."""
        match node:
            case ast.Constant(value=str(text)) if _works(text) or self._may_read(text):
                yield Problem(node.lineno, f"this is worked out while the file is loaded: {text[:60]}", _FIX)
            case ast.Subscript(value=of) if self._dotted(of) in _LITERALS:
                return
            case ast.Call() | ast.Lambda():
                return
            case _:
                for child in ast.iter_child_nodes(node):
                    yield from self._in_text(child)

    def _may_read(self, text: str) -> bool:
        """Whether a type that is written as text may name a property."""
        return "." in text and any(name in text for name in self._own.properties)

    def _value(self, node: ast.expr) -> Iterator[Problem]:
        match node:
            case ast.Call():
                yield from self._called(node)
            case ast.Attribute() if self._own.reads_property(node):
                yield Problem(node.lineno, f"{self._shown(node)} runs while the file is loaded", _FIX)
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
            case ast.Dict(keys=keys, values=values):
                for key, value in zip(keys, values, strict=True):
                    if key is None and self._own.may_be_asked(value, _OF_MAPPINGS):
                        yield Problem(value.lineno, f"this may run {self._shown(value)} while the file is loaded", _FIX)
                yield from self._children(node)
            case ast.Subscript():
                yield from self._in_text(node)
                yield from self._children(node)
            case _:
                yield from self._children(node)

    def _called(self, node: ast.Call) -> Iterator[Problem]:
        func = node.func
        if isinstance(func, ast.Call) and self._dotted(func.func) == CREATE:
            # The handler itself is not run.
            yield from self._arguments(func)
            yield from self._arguments(node)
            return
        if isinstance(func, ast.Attribute) and self._dotted(func) is None:
            known = func.attr in _METHODS and not self._is_own_method(func)
            yield from self._value(func.value)
        else:
            known = self._is_known(func)
            if isinstance(func, ast.Subscript):
                yield from self._value(func.slice)
        dotted = self._dotted(func) or ""
        if dotted == "builtins.filter":
            # That asks the values themselves, as `bool` does.
            known = isinstance(node.args[0], ast.Constant) and node.args[0].value is None if node.args else False
        if dotted in _TAKE_TYPES or dotted.startswith(("typing.", "typing_extensions.")):
            for argument in (*node.args, *(one.value for one in node.keywords)):
                yield from self._in_text(argument)
        if dotted == "builtins.type" and len(node.args) != 1:
            known = False
        if not known:
            yield Problem(node.lineno, f"{self._shown(func)} is called while the file is loaded", _FIX)
        else:
            yield from self._handed(node, takes_code(self._dotted(func)))
        yield from self._arguments(node)

    def _is_own_method(self, func: ast.Attribute) -> bool:
        level = self._own.level(func.value)
        return level != Own.NO and (
            func.attr in self._own.attributes or (level, func.attr in _LOOKS) == (Own.CODE, False)
        )

    def _handed(self, call: ast.Call, asked: Asked) -> Iterator[Problem]:
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
                may_run = not kept and not dotted.startswith(_ASK_NOBODY) and self._own.may_be_asked(value)
            if may_run or (self._own.level(value) == Own.CODE and not kept):
                reason = f"{self._shown(call.func)} may run {self._shown(value)} while the file is loaded"
                yield Problem(value.lineno, reason, _FIX)

    def _defaults(self, arguments: ast.arguments) -> Iterator[Problem]:
        for default in (*arguments.defaults, *arguments.kw_defaults):
            if default is not None:
                yield from self._value(default)

    def _comprehension(self, node: ast.expr, loops: list[ast.comprehension]) -> Iterator[Problem]:
        if len(loops) > 1 or any(self._counts(loop.iter) or self._wrong_target([loop.target]) for loop in loops):
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
        if isinstance(func, ast.Name) and func.id in self._own.classes:
            return self._own.is_thing(func.id)
        if isinstance(func, ast.Subscript):
            return self._is_known(func.value)
        dotted = self._dotted(func)
        if dotted is None or dotted in _NOT:
            return False
        module, _, name = dotted.rpartition(".")
        if module == "builtins":
            return name in _BUILTINS
        return dotted in _CALLS or dotted == CREATE or dotted.partition(".")[0] in _MODULES

    def _wrong_target(self, targets: Iterable[ast.expr]) -> Problem | None:
        """To set what belongs to somebody else is work, and may run code."""
        for target in targets:
            for one in ast.walk(target):
                if isinstance(one, ast.Attribute | ast.Subscript):
                    reason = f"{self._shown(one)} is set while the file is loaded"
                    return Problem(one.lineno, reason, "set names of your own only")
                if isinstance(one, ast.Name) and _is_inner(one.id):
                    return Problem(one.lineno, f"{one.id} belongs to Python", _HIDES)
        return None

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


def _works(text: str) -> bool:
    """Whether this text is a type that somebody has to work out."""
    if "(" not in text or len(text) > _LONGEST_TYPE:
        return "(" in text and len(text) > _LONGEST_TYPE
    try:
        return any(isinstance(part, ast.Call) for part in ast.walk(ast.parse(text.strip(), mode="eval")))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


def _is_inner(name: str) -> bool:
    return name.startswith("__") and name.endswith("__") and name not in _OF_FILES


def _is_configuration(statement: ast.stmt) -> bool:
    """What pydantic asks for names and titles as soon as there is such a class."""
    match statement:
        case ast.Assign(targets=[ast.Name(id="model_config")]) | ast.AnnAssign(target=ast.Name(id="model_config")):
            return True
        case ast.ClassDef(name="Config"):
            return True
        case _:
            return False
