"""Decide which code could run while a skill file is loaded: known harmless calls, and the file's own code.

Tables of what may be called and of who only keeps the code that it is given, and for each name of the file how far its
value is code of the file.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import IntEnum
from fractions import Fraction

from pydantic import BaseModel

from skills.checks.source import CREATE, SkillSource
from skills.checks.syntax import split_words

_READERS = split_words(
    """getattr hasattr attrgetter format format_map vformat get_field runtime_checkable from_attributes
    singledispatchmethod"""
)


def at_loading(tree: ast.Module) -> Iterator[ast.AST]:
    """Every node that Python may work out while it loads the file: all but the bodies of functions."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        for field, value in ast.iter_fields(node):
            if field == "body" and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            parts = value if isinstance(value, list) else [value]
            waiting += [part for part in parts if isinstance(part, ast.AST)]


def may_read_by_name(nodes: Iterable[ast.AST]) -> bool:
    """Whether one of these nodes may do so: then nobody can tell which attributes are read."""
    return any(_reads(node) for node in nodes)


def _reads(node: ast.AST) -> bool:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.alias(name=name) | ast.Constant(value=str(name)):
            return name in _READERS
        case ast.Assign(targets=[ast.Name(id="model_config")], value=value):
            return not _is_plain(value)
        case ast.AnnAssign(target=ast.Name(id="model_config"), value=ast.expr() as value):
            return not _is_plain(value)
        case ast.keyword(arg="config", value=value):
            return not _is_plain(value)
        case ast.keyword(arg=name):
            return name in _READERS
        case _:
            return False


def _is_plain(settings: ast.expr) -> bool:
    """Whether every name among these settings of pydantic's is written out."""
    match settings:
        case ast.Call(args=[], keywords=named):
            return all(one.arg is not None for one in named)
        case ast.Dict(keys=keys):
            return all(isinstance(key, ast.Constant) for key in keys)
        case _:
            return False


LOAD_FIX = "do it in a step: loading the file only defines functions and constants"
"""What the author of anything else is told."""

_KNOWN_BUILTINS = split_words(
    """abs bool bytes classmethod dict divmod enumerate float format frozenset int isinstance len list max min
    object ord chr property reversed round set slice sorted staticmethod str sum super tuple type zip range"""
)
# Modules whose calls only make values.
_MODULES = split_words(
    """dataclasses decimal enum fractions inngest ipaddress math operator pydantic re statistics string textwrap typing
    typing_extensions uuid zoneinfo functools abc contextlib types"""
)
_CALLS = split_words(
    """datetime.timedelta datetime.date datetime.time datetime.datetime datetime.timezone collections.namedtuple
    collections.OrderedDict collections.defaultdict collections.Counter collections.deque logging.getLogger json.dumps
    json.loads hashlib.sha256 urllib.parse.quote urllib.parse.urlencode random.Random"""
)
_NOT_KNOWN = split_words(
    """inngest.Inngest math.factorial math.comb math.perm functools.reduce operator.call operator.methodcaller
    typing.ForwardRef typing.get_type_hints typing_extensions.get_type_hints types.new_class types.prepare_class"""
)
VALUE_METHODS = split_words(
    """capitalize casefold copy decode encode endswith format fromisoformat fromkeys get isoformat items join keys lower
    lstrip partition removeprefix removesuffix replace rpartition rsplit rstrip split splitlines startswith strip title
    total_seconds union upper values zfill"""
)
# What a container that holds own code may be asked all the same.
CONTAINER_METHODS = split_words("get items keys copy")
KNOWN_METACLASSES = split_words("builtins.type enum.EnumMeta enum.EnumType abc.ABCMeta")
KNOWN_DECORATORS = split_words(
    """dataclasses.dataclass pydantic.dataclasses.dataclass functools.cache functools.lru_cache functools.wraps
    functools.total_ordering functools.cached_property functools.singledispatch builtins.property builtins.staticmethod
    builtins.classmethod abc.abstractmethod contextlib.contextmanager typing.final typing.overload typing.override
    typing.runtime_checkable typing_extensions.final typing_extensions.overload typing_extensions.override
    typing_extensions.runtime_checkable pydantic.field_validator pydantic.model_validator pydantic.field_serializer
    pydantic.model_serializer pydantic.computed_field pydantic.validate_call enum.unique enum.verify enum.member
    enum.nonmember enum.property"""
)
# Modules that call nothing by its name.
ASK_NOBODY_MODULES = ("builtins.", "inngest.", "pydantic.", "dataclasses.")
# They work out types that are given as text.
TAKE_TYPE_TEXTS = split_words("pydantic.TypeAdapter pydantic.create_model")


def is_known_call(dotted: str) -> bool:
    """Whether this function of Python's or a library's, by its full name, is one of them."""
    if dotted in _NOT_KNOWN:
        return False
    module, _, name = dotted.rpartition(".")
    if module == "builtins":
        return name in _KNOWN_BUILTINS
    return dotted in _CALLS or dotted == CREATE or dotted.partition(".")[0] in _MODULES


_KEEP_EVERYTHING = split_words(
    """dataclasses.field functools.partial functools.partialmethod functools.wraps functools.cached_property
    pydantic.PrivateAttr pydantic.AfterValidator pydantic.BeforeValidator pydantic.PlainValidator pydantic.WrapValidator
    pydantic.PlainSerializer pydantic.WrapSerializer pydantic.Discriminator"""
)


@dataclass(frozen=True)
class KeptArguments:
    """Which arguments it only keeps: those by position, those with these names, or all."""

    everything: bool = False
    by_position: bool = False
    names: frozenset[str] = frozenset()

    def lets(self, name: str | None) -> bool:
        return self.everything or (self.by_position if name is None else name in self.names)


KEEPS_NOTHING = KeptArguments()
_BUILTIN_KEEPS = KeptArguments(by_position=True)
_TYPE_KEEPS = KeptArguments(by_position=True)
_FIELD_KEEPS = KeptArguments(names=frozenset(("default", "default_factory")))
_KEEPS_ALL = KeptArguments(everything=True)


def kept_arguments(dotted: str | None) -> KeptArguments:
    """What the thing of this name, which may be called while the file is loaded, can be given; None: a class of the
    file, whose objects keep what they are given."""
    if dotted is None or dotted in _KEEP_EVERYTHING or dotted == CREATE or dotted.startswith(("typing.", "typing_ext")):
        return _KEEPS_ALL
    if dotted == "pydantic.TypeAdapter":
        # It reads how a class is built; what that could run for it is refused where the class stands.
        return _TYPE_KEEPS
    if dotted == "pydantic.Field":
        return _FIELD_KEEPS
    # They look at what they are given, and only `key` is called.
    return _BUILTIN_KEEPS if dotted.startswith("builtins.") else KEEPS_NOTHING


_FUNCTION_NODES = (ast.FunctionDef, ast.AsyncFunctionDef)
_PROPERTY = "builtins.property"


class CodeLevel(IntEnum):
    """How far a value is the file's own.

    `THING`: a class that brings nothing which Python calls by itself, or an object of one: whatever is done to it, only
    its methods run, and those only when they are named. `CODE`: a function, a class whose objects run code of the file
    when they are made, or what may hold one of these: it must not come to anybody who calls it.
    """

    NO = 0
    THING = 1
    CODE = 2


# Called as soon as there is such a class, or one that names it.
_AT_DEFINITION = split_words(
    """__init_subclass__ __set_name__ __class_getitem__ __prepare__ __mro_entries__ __instancecheck__ __subclasscheck__
    __subclasshook__ __get_validators__ _generate_next_value_ __build_class__"""
)
_PYDANTIC = ("__pydantic", "__get_pydantic")
_OF_ENUM = split_words("__new__ __init__ __eq__ __hash__ __set_name__ _generate_next_value_ __init_subclass__ __or__")
_HARMLESS = split_words("__slots__ __doc__ __match_args__ __module__ __hash__ __version__ __author__ __all__")
_PLAIN_DECORATORS = split_words(
    """builtins.staticmethod builtins.classmethod builtins.property abc.abstractmethod typing.overload typing.final"""
)
_PLAIN_BASES = split_words(
    """builtins.object builtins.Exception builtins.ValueError builtins.RuntimeError builtins.str builtins.int
    builtins.float pydantic.BaseModel abc.ABC typing.NamedTuple typing.TypedDict typing.Generic typing.Protocol
    typing_extensions.NamedTuple typing_extensions.TypedDict typing_extensions.Protocol"""
)

_TO_PLAIN = split_words(
    "builtins.str builtins.int builtins.float builtins.bool builtins.len builtins.abs builtins.round"
)
_KNOWN_TYPES: tuple[type, ...] = (str, bytes, int, float, dict, list, set, datetime, Decimal, Fraction, BaseModel)
KNOWN_METHODS = frozenset(name for known in _KNOWN_TYPES for name in dir(known) if not name.startswith("_"))


class OwnCode:
    """Asked of the expressions that are worked out while the file is loaded."""

    def __init__(self, source: SkillSource) -> None:
        self._names = source.names
        self.classes: Mapping[str, ast.ClassDef] = {
            node.name: node for node in source.nodes if isinstance(node, ast.ClassDef)
        }
        self.attributes = {name for node in self.classes.values() for name in _bound_in(node.body)}
        self.methods = {
            one.name for node in self.classes.values() for one in node.body if isinstance(one, _FUNCTION_NODES)
        }
        self._fields = {
            name
            for node in self.classes.values()
            for one in node.body
            if not isinstance(one, _FUNCTION_NODES)
            for name in _bound_in([one])
        }
        self.properties = {
            one.name
            for node in self.classes.values()
            for one in node.body
            if isinstance(one, ast.FunctionDef) and _PROPERTY in map(source.names.dotted, one.decorator_list)
        }
        self.values: dict[str, list[ast.expr]] = defaultdict(list)
        # By name; what only a class body knows by this name has a dot before it.
        self._level: dict[str, CodeLevel] = {}
        self._used_by: dict[str, set[str]] = defaultdict(set)
        nodes = list(at_loading(source.tree))
        self._in_classes = {id(one) for node in nodes if isinstance(node, ast.ClassDef) for one in ast.walk(node)}
        # A property runs where it is read; it is known where that is as long as all who read it write its name.
        self._hides_reads = bool(self.properties) and may_read_by_name(nodes)
        inside = {id(one) for node in nodes if isinstance(node, ast.ClassDef) for one in node.body}
        for node in nodes:
            if isinstance(node, ast.comprehension):
                self._set(node.iter, node.target)
            elif isinstance(node, ast.stmt):
                self._enter(node, "." if id(node) in inside else "")
        for name, node in self.classes.items():
            is_thing = name in source.names.once and self._level.get(name) == CodeLevel.THING and self._is_plain(node)
            self._level[name] = CodeLevel.THING if is_thing else CodeLevel.CODE
        for least in (CodeLevel.CODE, CodeLevel.THING):
            self._spread(least)

    def level(self, node: ast.AST) -> CodeLevel:
        """The most of what the expression could be or hold."""
        found = CodeLevel.NO
        for one in ast.walk(node):
            match one:
                case ast.Lambda():
                    return CodeLevel.CODE
                case ast.Name():
                    found = max(found, *(self._level.get(key, CodeLevel.NO) for key in self._keys(one)))
                case ast.Attribute(attr=attr) if attr in self.methods and self._names.dotted(one) is None:
                    return CodeLevel.CODE
                case _:
                    continue
        return found

    def is_thing(self, name: str) -> bool:
        """Whether it is a class whose objects may be made while the file is loaded."""
        return name in self.classes and self._level[name] == CodeLevel.THING

    def hooks(self, node: ast.ClassDef) -> Iterator[tuple[int, str]]:
        """What Python calls because there is such a class: line and name."""
        enum = self._is_enum(node)
        for statement in node.body:
            for name in _bound_in([statement]):
                at_once = name in _AT_DEFINITION or name.startswith(_PYDANTIC) or (enum and name in _OF_ENUM)
                if at_once and name not in _HARMLESS:
                    yield statement.lineno, name

    def may_be_asked(self, node: ast.expr, methods: Set[str] = KNOWN_METHODS) -> bool:
        """Whether somebody to whom this is given may take an object of the file's own for a thing that they know, and
        call one of the methods by its name."""
        match node:
            case ast.JoinedStr() | ast.Call(func=ast.Attribute(value=ast.Constant())):
                return False
            case ast.Call(func=func) if self._names.dotted(func) in _TO_PLAIN:
                return False
            case _:
                return bool(self.methods & methods) and self.level(node) != CodeLevel.NO

    def reads_property(self, node: ast.Attribute) -> bool:
        """Whether this may be a property of an object of the file's own."""
        return (
            node.attr in self.properties and self._names.dotted(node) is None and self.level(node.value) != CodeLevel.NO
        )

    def _keys(self, name: ast.Name) -> tuple[str, ...]:
        return (name.id, f".{name.id}") if id(name) in self._in_classes else (name.id,)

    def _enter(self, statement: ast.stmt, scope: str) -> None:
        match statement:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                self._level[scope + name] = CodeLevel.CODE
            case ast.ClassDef(name=name):
                self._level[name] = max(self._level.get(name, CodeLevel.NO), CodeLevel.THING)
            case ast.Assign(targets=targets, value=value):
                self._set(value, *targets, scope=scope)
            case ast.AnnAssign(target=target, value=value) if value is not None:
                self._set(value, target, scope=scope)
            case ast.AugAssign(target=target, value=value):
                self._set(value, target, scope=scope)
            case _:
                return

    def _set(self, value: ast.expr, *targets: ast.expr, scope: str = "") -> None:
        level = self._alone(value)
        used = {key for one in ast.walk(value) if isinstance(one, ast.Name) for key in self._keys(one)}
        for name in {name for target in targets for name in _names_in(target)}:
            self.values[name].append(value)
            self._level[scope + name] = max(self._level.get(scope + name, CodeLevel.NO), level)
            for one in used:
                self._used_by[one].add(scope + name)

    def _alone(self, node: ast.AST) -> CodeLevel:
        """Whatever the names in it stand for."""
        for one in ast.walk(node):
            if isinstance(one, ast.Lambda):
                return CodeLevel.CODE
            if isinstance(one, ast.Attribute) and one.attr in self.methods and self._names.dotted(one) is None:
                return CodeLevel.CODE
        return CodeLevel.NO

    def _spread(self, least: CodeLevel) -> None:
        """A name is what it was set to, and a class what its bases and fields are."""
        waiting = [name for name, level in self._level.items() if level >= least]
        while waiting:
            for name in self._used_by[waiting.pop()]:
                if self._level.get(name, CodeLevel.NO) < least:
                    self._level[name] = least
                    waiting.append(name)

    def _is_plain(self, node: ast.ClassDef) -> bool:
        """As far as the class itself tells; what it names is seen to afterwards."""
        for base in node.bases:
            whole = base.value if isinstance(base, ast.Subscript) else base
            dotted = self._names.dotted(whole) or ""
            if isinstance(whole, ast.Name) and whole.id in self.classes:
                self._used_by[whole.id].add(node.name)
            elif dotted not in _PLAIN_BASES and not dotted.startswith("enum."):
                return False
        return all(one.arg != "metaclass" for one in node.keywords) and all(
            self._is_plain_part(node, statement) for statement in node.body
        )

    def _is_plain_part(self, node: ast.ClassDef, statement: ast.stmt) -> bool:
        match statement:
            case ast.FunctionDef(name=name, decorator_list=decorators):
                dunder = name.startswith("__") or name == "model_post_init"
                inner = name.startswith("_") and self._is_enum(node)
                wrapped = {self._names.dotted(one) for one in decorators}
                read = _PROPERTY in wrapped and (self._hides_reads or name in self._fields or self._is_enum(node))
                return not (dunder or inner or read) and wrapped <= _PLAIN_DECORATORS
            case ast.ClassDef(name=name):
                self._used_by[name].add(node.name)
                return True
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                return True
            case _:
                for one in ast.walk(statement):
                    if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load):
                        for key in self._keys(one):
                            self._used_by[key].add(node.name)
                named = {name for name in _bound_in([statement]) if name.startswith("__")}
                return named <= _HARMLESS and self._alone(statement) == CodeLevel.NO

    def _is_enum(self, node: ast.ClassDef) -> bool:
        return any((self._names.dotted(base) or "").startswith("enum.") for base in node.bases)


def _names_in(target: ast.expr) -> Iterator[str]:
    return (one.id for one in ast.walk(target) if isinstance(one, ast.Name))


def _bound_in(body: list[ast.stmt]) -> Iterator[str]:
    for statement in body:
        match statement:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Assign(targets=targets):
                yield from (name for target in targets for name in _names_in(target))
            case ast.AnnAssign(target=target) | ast.AugAssign(target=target):
                yield from _names_in(target)
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                yield from (one.asname or one.name for one in names)
            case _:
                continue
