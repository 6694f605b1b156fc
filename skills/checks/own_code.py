"""What of a file's own code could run when a value is used while the file is loaded."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from enum import IntEnum

from skills.checks.source import Source
from skills.checks.word_list import words

_FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)


class Own(IntEnum):
    """How far a value is the file's own.

    `THING`: a class that brings nothing which Python calls by itself, or an object of one: whatever is done to it, only
    its methods run, and those only when they are named. `CODE`: a function, a class whose objects run code of the file
    when they are made, or what may hold one of these: it must not come to anybody who calls it.
    """

    NO = 0
    THING = 1
    CODE = 2


# Called as soon as there is such a class, or one that names it.
_AT_DEFINITION = words(
    """__init_subclass__ __set_name__ __class_getitem__ __prepare__ __mro_entries__ __instancecheck__ __subclasscheck__
    __subclasshook__ __get_validators__ _generate_next_value_ __build_class__"""
)
_PYDANTIC = ("__pydantic", "__get_pydantic")
_OF_ENUM = words("__new__ __init__ __eq__ __hash__ __set_name__ _generate_next_value_ __init_subclass__ __or__")
_HARMLESS = words("__slots__ __doc__ __match_args__ __module__ __hash__ __version__ __author__ __all__")
_PLAIN_DECORATORS = words("builtins.staticmethod builtins.classmethod abc.abstractmethod typing.overload typing.final")
_PLAIN_BASES = words(
    """builtins.object builtins.Exception builtins.ValueError builtins.RuntimeError builtins.str builtins.int
    builtins.float pydantic.BaseModel abc.ABC typing.NamedTuple typing.TypedDict typing.Generic typing.Protocol
    typing_extensions.NamedTuple typing_extensions.TypedDict typing_extensions.Protocol"""
)


class OwnCode:
    """Asked of the expressions that are worked out while the file is loaded."""

    def __init__(self, source: Source) -> None:
        self._names = source.names
        self.classes: Mapping[str, ast.ClassDef] = {
            node.name: node for node in source.nodes if isinstance(node, ast.ClassDef)
        }
        self.attributes = {name for node in self.classes.values() for name in _bound_in(node.body)}
        self.methods = {one.name for node in self.classes.values() for one in node.body if isinstance(one, _FUNCTION)}
        self.values: dict[str, list[ast.expr]] = defaultdict(list)
        self._level: dict[str, Own] = {}
        self._used_by: dict[str, set[str]] = defaultdict(set)
        for node in source.nodes:
            if isinstance(node, ast.comprehension):
                self._set(node.iter, node.target)
        for statement in _at_loading(source.tree.body):
            self._enter(statement)
        for name, node in self.classes.items():
            is_thing = name in source.names.once and self._level.get(name) == Own.THING and self._is_plain(node)
            self._level[name] = Own.THING if is_thing else Own.CODE
        for least in (Own.CODE, Own.THING):
            self._spread(least)

    def level(self, node: ast.AST) -> Own:
        """The most of what the expression could be or hold."""
        found = Own.NO
        for one in ast.walk(node):
            match one:
                case ast.Lambda():
                    return Own.CODE
                case ast.Name(id=name):
                    found = max(found, self._level.get(name, Own.NO))
                case ast.Attribute(attr=attr) if attr in self.methods and self._names.dotted(one) is None:
                    return Own.CODE
                case _:
                    continue
        return found

    def is_thing(self, name: str) -> bool:
        """Whether it is a class whose objects may be made while the file is loaded."""
        return name in self.classes and self._level[name] == Own.THING

    def hooks(self, node: ast.ClassDef) -> Iterator[tuple[int, str]]:
        """What Python calls because there is such a class: line and name."""
        enum = self._is_enum(node)
        for statement in node.body:
            for name in _bound_in([statement]):
                at_once = name in _AT_DEFINITION or name.startswith(_PYDANTIC) or (enum and name in _OF_ENUM)
                if at_once and name not in _HARMLESS:
                    yield statement.lineno, name

    def _enter(self, statement: ast.stmt) -> None:
        match statement:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                self._level[name] = Own.CODE
            case ast.ClassDef(name=name):
                self._level[name] = max(self._level.get(name, Own.NO), Own.THING)
            case ast.Assign(targets=targets, value=value):
                self._set(value, *targets)
            case ast.AnnAssign(target=target, value=value) if value is not None:
                self._set(value, target)
            case ast.AugAssign(target=target, value=value):
                self._set(value, target)
            case _:
                return

    def _set(self, value: ast.expr, *targets: ast.expr) -> None:
        level, used = self._alone(value), {one.id for one in ast.walk(value) if isinstance(one, ast.Name)}
        for name in {name for target in targets for name in _names_in(target)}:
            self.values[name].append(value)
            self._level[name] = max(self._level.get(name, Own.NO), level)
            for one in used:
                self._used_by[one].add(name)

    def _alone(self, node: ast.AST) -> Own:
        """Whatever the names in it stand for."""
        for one in ast.walk(node):
            if isinstance(one, ast.Lambda):
                return Own.CODE
            if isinstance(one, ast.Attribute) and one.attr in self.methods and self._names.dotted(one) is None:
                return Own.CODE
        return Own.NO

    def _spread(self, least: Own) -> None:
        """A name is what it was set to, and a class what its bases and fields are."""
        waiting = [name for name, level in self._level.items() if level >= least]
        while waiting:
            for name in self._used_by[waiting.pop()]:
                if self._level.get(name, Own.NO) < least:
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
                return not dunder and not inner and {self._names.dotted(one) for one in decorators} <= _PLAIN_DECORATORS
            case ast.ClassDef(name=name):
                self._used_by[name].add(node.name)
                return True
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                return True
            case _:
                for one in ast.walk(statement):
                    if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load):
                        self._used_by[one.id].add(node.name)
                named = {name for name in _bound_in([statement]) if name.startswith("__")}
                return named <= _HARMLESS and self._alone(statement) == Own.NO

    def _is_enum(self, node: ast.ClassDef) -> bool:
        return any((self._names.dotted(base) or "").startswith("enum.") for base in node.bases)


def _at_loading(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements outside of functions."""
    for statement in body:
        yield statement
        if isinstance(statement, ast.ClassDef | ast.If):
            yield from _at_loading(statement.body)


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
