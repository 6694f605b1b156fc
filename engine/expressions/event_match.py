"""Event match: the equality in an expression by which an index finds what waits for an event."""

from typing import Any

import lark

from engine.expressions import comparison
from engine.expressions.compiler import Expression, ExpressionScope
from engine.formats.json_text import clean_text


def match_of(expression: Expression, scope: ExpressionScope) -> tuple[str, str] | None:
    """Return a path in the arriving event and the key that its value must have, such as (`data.id`, `s:7`), or None.

    It is found in `async.data.id == X` or `X == async.data.id`, alone or as a part of a top-level `&&`.
    """
    for part in _conjuncts(expression.tree):
        sides = _sides(part)
        if sides is None:
            continue
        for left, right in (sides, sides[::-1]):
            path = _path(left)
            other = _value(right, scope)
            if path is not None and path[0] == "async" and len(path) > 1 and (key := match_key(other)) is not None:
                return ".".join(path[1:]), key
    return None


def match_key(value: Any) -> str | None:
    """Return a text that is the same for loosely equal values; None for values other than numbers and text."""
    if (found := comparison.number(value)) is not None:
        return f"n:{float(found) + 0.0!r}"
    return f"s:{clean_text(value)}" if isinstance(value, str) else None


def _conjuncts(node: Any) -> list[Any]:
    while len(node.children) == 1 and isinstance(node.children[0], lark.Tree) and node.data != "primary":
        node = node.children[0]
    if node.data == "conditionaland":
        return [found for child in node.children for found in _conjuncts(child)]
    return [node]


def _sides(node: Any) -> tuple[Any, Any] | None:
    if node.data == "relation" and len(node.children) == 2 and node.children[0].data == "relation_eq":
        return node.children[0].children[0], node.children[1]
    return None


def _path(node: Any) -> tuple[str, ...] | None:
    """Return the names of an expression such as `async.data.id`; None for any other expression."""
    while isinstance(node, lark.Tree) and len(node.children) == 1 and node.data != "ident":
        node = node.children[0]
    if not isinstance(node, lark.Tree):
        return None
    if node.data == "ident":
        return (str(node.children[0]),)
    if node.data == "member_dot":
        whole = _path(node.children[0])
        return None if whole is None else (*whole, str(node.children[1]))
    return None


def _value(node: Any, scope: ExpressionScope) -> Any:
    """Return the value of a literal or of a path in `event`; None for any other expression."""
    path = _path(node)
    if path is not None:
        if path[0] != "event":
            return None
        value: Any = scope
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
        return value
    while isinstance(node, lark.Tree) and len(node.children) == 1 and node.data != "literal":
        node = node.children[0]
    if isinstance(node, lark.Tree) and node.data == "literal":
        text = str(node.children[0])
        if text[:1] in "\"'" and "\\" not in text:
            return text[1:-1]
        return comparison.number(text)
    return None
