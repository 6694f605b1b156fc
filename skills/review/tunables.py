"""The numbers at the top of a skill file that a review may move, read from the syntax tree."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

_NAME = re.compile(r"[A-Z][A-Z0-9_]*")
# How the name of a constant tells what a higher value does: `SENSITIVITY` alarms more, `…_ABOVE` alarms less.
_MORE = re.compile(r"SENSITIV|BELOW|MINIMUM|_MIN\b|^MIN_")
_LESS = re.compile(r"THRESHOLD|LIMIT|ABOVE|TOLERAN|MAXIMUM|DEGRADED|CRITICAL|ALARM|_MAX\b|^MAX_")


@dataclass(frozen=True)
class Tunable:
    """`name` is the constant's, with `.key` for a number in a dict. `higher` is what a higher value does."""

    name: str
    value: float
    line: int
    higher: str

    @property
    def leads(self) -> bool:
        """A number that stands for all limits at once."""
        return "SENSITIV" in self.name


def tunables(source: str) -> tuple[Tunable, ...]:
    """Every constant of the module that is a number, or a dict of numbers, in their order; none of a broken file."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    return tuple(found for statement in tree.body for found in _of(statement))


def _of(statement: ast.stmt) -> Iterator[Tunable]:
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            pass
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
            pass
        case _:
            return
    if not _NAME.fullmatch(name):
        return
    if (number := _number(value)) is not None:
        yield Tunable(name, number, statement.lineno, _higher(name))
    elif isinstance(value, ast.Dict):
        for key, item in zip(value.keys, value.values, strict=True):
            number = _number(item)
            if isinstance(key, ast.Constant) and isinstance(key.value, str) and number is not None:
                yield Tunable(f"{name}.{key.value}", number, item.lineno, _higher(name))


def _number(node: ast.expr) -> float | None:
    match node:
        case ast.Constant(value=bool()):
            return None
        case ast.Constant(value=int() | float() as value):
            return float(value)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return -float(value)
        case _:
            return None


def _higher(name: str) -> str:
    if _MORE.search(name):
        return "more alarms"
    return "fewer alarms" if _LESS.search(name) else "unknown"
