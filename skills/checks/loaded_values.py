"""Expressions that Python works out while a skill file is loaded: values and nothing else."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from skills.checks.declared import CREATE
from skills.checks.handed_on import Asked, takes_code
from skills.checks.known_calls import ASK_NOBODY, FIX, LOOKS, METHODS, TAKE_TYPES, is_known_call
from skills.checks.own_code import Own, OwnCode
from skills.checks.own_targets import wrong_target
from skills.checks.source import Source
from skills.checks.types_as_text import TypesAsText
from skills.problem import Problem

_MOST_POWER = 64
# What a dictionary is made of is asked for these.
_OF_MAPPINGS = frozenset(("keys", "items"))
_TYPES = (ast.Name, ast.Attribute, ast.Subscript, ast.Call, ast.Constant)


class LoadedValues:
    """Of one file."""

    def __init__(self, source: Source, own: OwnCode) -> None:
        self._source = source
        self._own = own
        self._text = TypesAsText(source.names, own)
        self._types_seen: set[str] = set()

    def look(self, node: ast.expr) -> Iterator[Problem]:
        match node:
            case ast.Call():
                yield from self._called(node)
            case ast.Attribute() if self._own.reads_property(node):
                yield Problem(node.lineno, f"{self._shown(node)} runs while the file is loaded", FIX)
            case ast.BinOp(op=ast.Pow(), right=right) if not self._is_small(right):
                yield Problem(node.lineno, f"this is worked out while the file is loaded: {self._shown(node)}", FIX)
            case ast.Await() | ast.Yield() | ast.YieldFrom() | ast.NamedExpr():
                yield Problem(node.lineno, f"this runs while the file is loaded: {self._shown(node)}", FIX)
            case ast.Lambda(args=arguments):
                yield from self.defaults(arguments)
            case ast.ListComp(generators=loops) | ast.SetComp(generators=loops) | ast.DictComp(generators=loops):
                yield from self._comprehension(node, loops)
            case ast.GeneratorExp(generators=loops):
                yield from self._comprehension(node, loops)
            case ast.Dict(keys=keys, values=values):
                for key, value in zip(keys, values, strict=True):
                    if key is None and self._own.may_be_asked(value, _OF_MAPPINGS):
                        yield Problem(value.lineno, f"this may run {self._shown(value)} while the file is loaded", FIX)
                yield from self._children(node)
            case ast.Subscript():
                yield from self._text.look(node)
                yield from self._children(node)
            case _:
                yield from self._children(node)

    def annotation(self, node: ast.expr) -> Iterator[Problem]:
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
                    yield Problem(node.lineno, f"this type is computed: {self._shown(value)}", "write it out")

    def _called(self, node: ast.Call) -> Iterator[Problem]:
        func = node.func
        if isinstance(func, ast.Call) and self._dotted(func.func) == CREATE:
            # The handler itself is not run.
            yield from self.arguments(func)
            yield from self.arguments(node)
            return
        if isinstance(func, ast.Attribute) and self._dotted(func) is None:
            known = func.attr in METHODS and not self._is_own_method(func)
            yield from self.look(func.value)
        else:
            known = self._is_known(func)
            if isinstance(func, ast.Subscript):
                yield from self.look(func.slice)
        dotted = self._dotted(func) or ""
        if dotted == "builtins.filter":
            # That asks the values themselves, as `bool` does.
            known = isinstance(node.args[0], ast.Constant) and node.args[0].value is None if node.args else False
        if dotted in TAKE_TYPES or dotted.startswith(("typing.", "typing_extensions.")):
            for argument in (*node.args, *(one.value for one in node.keywords)):
                yield from self._text.look(argument)
        if dotted == "builtins.type" and len(node.args) != 1:
            known = False
        if not known:
            yield Problem(node.lineno, f"{self._shown(func)} is called while the file is loaded", FIX)
        else:
            yield from self.handed(node, takes_code(self._dotted(func)))
        yield from self.arguments(node)

    def _is_own_method(self, func: ast.Attribute) -> bool:
        level = self._own.level(func.value)
        return level != Own.NO and (
            func.attr in self._own.attributes or (level, func.attr in LOOKS) == (Own.CODE, False)
        )

    def handed(self, call: ast.Call, asked: Asked) -> Iterator[Problem]:
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
                may_run = not kept and not dotted.startswith(ASK_NOBODY) and self._own.may_be_asked(value)
            if may_run or (self._own.level(value) == Own.CODE and not kept):
                reason = f"{self._shown(call.func)} may run {self._shown(value)} while the file is loaded"
                yield Problem(value.lineno, reason, FIX)

    def defaults(self, arguments: ast.arguments) -> Iterator[Problem]:
        for default in (*arguments.defaults, *arguments.kw_defaults):
            if default is not None:
                yield from self.look(default)

    def _comprehension(self, node: ast.expr, loops: list[ast.comprehension]) -> Iterator[Problem]:
        if len(loops) > 1 or any(self._counts(loop) for loop in loops):
            yield Problem(node.lineno, f"this is worked out while the file is loaded: {self._shown(node)}", FIX)
            return
        for loop in loops:
            for part in (loop.iter, *loop.ifs):
                yield from self.look(part)
        yield from self._children(node)

    def _children(self, node: ast.AST) -> Iterator[Problem]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                yield from self.look(child)

    def arguments(self, call: ast.Call) -> Iterator[Problem]:
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
