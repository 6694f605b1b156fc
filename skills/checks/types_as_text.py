"""Types that are written as text: Python or a library works them out like any other code."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from skills.checks.known_calls import FIX
from skills.checks.names import Names
from skills.checks.own_code import OwnCode
from skills.problem import Problem

_LITERALS = frozenset(("typing.Literal", "typing_extensions.Literal"))
_LONGEST_TYPE = 1000


class TypesAsText:
    """Of one file."""

    def __init__(self, names: Names, own: OwnCode) -> None:
        self._names = names
        self._own = own

    def look(self, node: ast.AST) -> Iterator[Problem]:
        """Types that are written as text are worked out like any other."""
        match node:
            case ast.Constant(value=str(text)) if _works(text) or self._may_read(text):
                yield Problem(node.lineno, f"this is worked out while the file is loaded: {text[:60]}", FIX)
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
