"""Check that every engine accepts an expression: CEL over `event`, `async` and `vars`."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Iterator
from typing import Any

ROOTS = frozenset(("event", "async", "vars"))
_MACROS = frozenset(("all", "exists", "exists_one", "filter", "map", "has"))
MOST_CHARACTERS = 1_000
# The first parse builds the grammar's tables; other threads wait for it.
_parsing = threading.Lock()


def _cel() -> Any:
    """Import the parser on first use: that takes half a second, and few processes need it."""
    return importlib.import_module("celpy.celparser")


def warm() -> None:
    """Import the parser and build its tables now, so that the first expression need not wait."""
    wrong_expression("event.data.id == async.data.id")


def wrong_expression(text: str, *, plain: bool = False) -> str | None:
    """Return what is wrong with an expression, or None. A `plain` one, used to cancel, may only compare values."""
    if len(text) > MOST_CHARACTERS:
        return f"an expression may have {MOST_CHARACTERS} characters, this one has {len(text)}"
    with _parsing:
        cel = _cel()
    try:
        with _parsing:
            tree = cel.CELParser().parse(text)
        unknown = sorted(set(_roots(tree, frozenset())) - ROOTS)
        calls = plain and next(_calls(tree), None)
        nested = _is_nested(tree)
    except (cel.CELParseError, cel.lark.exceptions.LarkError):
        return f"{text!r} is no expression"
    except RecursionError:
        return "the expression is nested too deeply"
    if unknown:
        return f"{unknown[0]!r} is unknown; there are {', '.join(sorted(ROOTS))}"
    if nested:
        return "a macro over a list may not stand inside another one: the work would multiply"
    return f"{calls} may not stand in an expression that cancels" if calls else None


def _roots(node: Any, bound: frozenset[str]) -> Iterator[str]:
    """Yield the names that an expression reads, without those that its macros bind."""
    if not _is_tree(node):
        return
    children = node.children
    if node.data == "ident":
        if (name := str(children[0])) not in bound:
            yield name
        return
    if _is_macro(node):
        arguments = children[2].children
        yield from _roots(children[0], bound)
        for argument in arguments[1:]:
            yield from _roots(argument, bound | {_variable(arguments[0])})
        return
    for child in children:
        yield from _roots(child, bound)


def _is_nested(node: Any, within: bool = False) -> bool:
    """Return whether a macro runs for every item of another macro's list."""
    if not _is_tree(node):
        return False
    if not _is_macro(node):
        return any(_is_nested(child, within) for child in node.children)
    return within or _is_nested(node.children[0]) or any(_is_nested(one, True) for one in node.children[2].children)


def _is_macro(node: Any) -> bool:
    return node.data == "member_dot_arg" and str(node.children[1]) in _MACROS and len(node.children) > 2


def _calls(tree: Any) -> Iterator[str]:
    for node in tree.iter_subtrees():
        match str(node.data):
            case "member_dot_arg":
                yield str(node.children[1])
            case "ident_arg":
                yield str(node.children[0])
            case "addition" | "multiplication" if len(node.children) > 1:
                yield "arithmetic"
            case _:
                continue


def _variable(node: Any) -> str:
    while _is_tree(node) and node.children:
        node = node.children[0]
    return str(node)


def _is_tree(node: Any) -> bool:
    """Return whether a node is a grammar rule with children, not a token."""
    return hasattr(node, "children")
