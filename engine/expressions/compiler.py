"""Compiler of expressions: turns CEL text into a function of its variables.

cel-python parses the text. Evaluation is our own, because Inngest's rules for null and comparison differ from CEL's.
"""

import ast
import functools
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import lark
from celpy.celparser import CELParseError, CELParser

from engine.expressions import comparison
from engine.expressions.functions import FUNCTIONS, METHODS

ExpressionScope = Mapping[str, Any]
Evaluate = Callable[[ExpressionScope], Any]

ROOTS = frozenset({"event", "async", "vars"})
MACROS = frozenset({"all", "exists", "exists_one", "filter", "map", "has"})
_MAX_LENGTH = 10_000
_MAX_WORK = 200_000
_LIST_COST, _CHARACTERS_PER_UNIT = 1_000, 100
"""Units of work: a list or map costs this much on top of its items, since these may be large; text costs by length."""
_WORK = ""
"""The key in a scope that holds how much work is left; no variable can have this name."""


class ExpressionError(ValueError):
    """The text is not a valid expression; the message says why."""


class _TooMuchWorkError(Exception):
    """The evaluation exceeds the limit of work."""


@dataclass(frozen=True)
class Expression:
    """A compiled expression.

    `evaluate` never raises; its result is null when it takes too much work. `uses` names the macros and functions of
    the expression, and `arithmetic` if it has any.
    """

    text: str
    evaluate: Evaluate
    tree: lark.Tree[lark.Token]
    roots: frozenset[str]
    uses: frozenset[str]

    def is_true(self, scope: ExpressionScope) -> bool:
        """Whether the expression's value counts as true."""
        return comparison.truthy(self.evaluate(scope))


@functools.lru_cache(maxsize=4096)
def compile_expression(text: str) -> Expression:
    """Parse and check an expression.

    Raises:
        ExpressionError: it does not parse, or uses an unknown variable or function.
    """
    if len(text) > _MAX_LENGTH:
        raise ExpressionError(f"an expression may have at most {_MAX_LENGTH} characters; this one has {len(text)}")
    try:
        tree = CELParser().parse(text)
    except (CELParseError, lark.exceptions.LarkError) as error:
        raise ExpressionError(f"{text!r} does not parse: {str(error).splitlines()[0]}") from error
    compiler = _Compiler()
    try:
        evaluate = compiler.compile(tree, frozenset())
    except RecursionError:
        raise ExpressionError("the expression is nested too deeply") from None
    return Expression(text, _limit_work(evaluate), tree, frozenset(compiler.roots), frozenset(compiler.uses))


def _limit_work(evaluate: Evaluate) -> Evaluate:
    """Limit the work of an evaluation, since all runs wait for it and anyone may have written it."""

    def evaluate_within_limit(scope: ExpressionScope) -> Any:
        try:
            return evaluate({**scope, _WORK: [_MAX_WORK]})
        except _TooMuchWorkError:
            return None

    return evaluate_within_limit


def _charge(scope: ExpressionScope, *values: Any, list_cost: int = _LIST_COST) -> None:
    """Subtract the cost of these values from the work that is left; raise _TooMuchWorkError when it is used up."""
    left = scope[_WORK]
    for value in values:
        match value:
            case list() | dict():
                left[0] -= list_cost + len(value)
            case str():
                left[0] -= 1 + len(value) // _CHARACTERS_PER_UNIT
            case _:
                left[0] -= 1
    if left[0] < 0:
        raise _TooMuchWorkError


def _charged(scope: ExpressionScope, *values: Any) -> tuple[Any, ...]:
    """Return the values after charging for them."""
    _charge(scope, *values)
    return values


class _Compiler:
    """Compiles one parse tree and notes which variables and functions it contains."""

    def __init__(self) -> None:
        self.roots: set[str] = set()
        self.uses: set[str] = set()

    def compile(self, node: Any, bound: frozenset[str]) -> Evaluate:
        children = node.children
        rule = getattr(self, f"_{node.data}", None)
        if rule is not None:
            found: Evaluate = rule(children, bound)
            return found
        if len(children) == 1 and isinstance(children[0], lark.Tree):
            return self.compile(children[0], bound)
        raise ExpressionError(f"{node.data} is not supported in expressions")

    def _many(self, nodes: list[Any], bound: frozenset[str]) -> list[Evaluate]:
        return [self.compile(node, bound) for node in nodes]

    def _expr(self, children: list[Any], bound: frozenset[str]) -> Evaluate:
        if len(children) == 1:
            return self.compile(children[0], bound)
        test, then, other = self._many(children, bound)
        return lambda scope: then(scope) if comparison.truthy(test(scope)) else other(scope)

    def _conditionalor(self, children: list[Any], bound: frozenset[str]) -> Evaluate:
        parts = self._many(children, bound)
        return parts[0] if len(parts) == 1 else lambda scope: any(comparison.truthy(part(scope)) for part in parts)

    def _conditionaland(self, children: list[Any], bound: frozenset[str]) -> Evaluate:
        parts = self._many(children, bound)
        return parts[0] if len(parts) == 1 else lambda scope: all(comparison.truthy(part(scope)) for part in parts)

    def _relation(self, children: list[Any], bound: frozenset[str]) -> Evaluate:
        if len(children) == 1:
            return self.compile(children[0], bound)
        sign = children[0].data
        left, right = self.compile(children[0].children[0], bound), self.compile(children[1], bound)
        match sign:
            case "relation_eq":
                return lambda scope: comparison.equal(*_charged(scope, left(scope), right(scope)))
            case "relation_ne":
                return lambda scope: not comparison.equal(*_charged(scope, left(scope), right(scope)))
            case "relation_in":
                return lambda scope: _is_in(*_charged(scope, left(scope), right(scope)))
        compare = {
            "relation_lt": operator.lt,
            "relation_le": operator.le,
            "relation_gt": operator.gt,
            "relation_ge": operator.ge,
        }
        return lambda scope: _ordered(compare[sign], *_charged(scope, left(scope), right(scope)))

    def _addition(self, children: list[Any], bound: frozenset[str]) -> Evaluate:
        return self._arithmetic(
            children, bound, {"addition_add": comparison.add, "addition_sub": _with_numbers(operator.sub)}
        )

    def _multiplication(self, children: list[Any], bound: frozenset[str]) -> Evaluate:
        operations = {
            "multiplication_mul": _with_numbers(operator.mul),
            "multiplication_div": _with_numbers(operator.truediv),
            "multiplication_mod": _with_numbers(operator.mod),
        }
        return self._arithmetic(children, bound, operations)

    def _arithmetic(
        self, children: list[Any], bound: frozenset[str], by_sign: dict[str, Callable[[Any, Any], Any]]
    ) -> Evaluate:
        if len(children) == 1:
            return self.compile(children[0], bound)
        self.uses.add("arithmetic")
        operate = by_sign[children[0].data]
        left, right = self.compile(children[0].children[0], bound), self.compile(children[1], bound)
        return lambda scope: operate(*_charged(scope, left(scope), right(scope)))

    def _unary(self, children: list[Any], bound: frozenset[str]) -> Evaluate:
        inner = self.compile(children[-1], bound)
        if len(children) == 1:
            return inner
        if children[0].data == "unary_not":
            return lambda scope: not comparison.truthy(inner(scope))
        minus = _with_numbers(operator.sub)
        return lambda scope: minus(0, inner(scope))

    def _member_dot(self, children: list[Any], bound: frozenset[str]) -> Evaluate:
        whole, name = self.compile(children[0], bound), str(children[1])
        return lambda scope: _member(whole(scope), name)

    def _member_index(self, children: list[Any], bound: frozenset[str]) -> Evaluate:
        whole, index = self._many(children, bound)
        return lambda scope: _member(whole(scope), index(scope))

    def _member_dot_arg(self, children: list[Any], bound: frozenset[str]) -> Evaluate:
        name = str(children[1])
        arguments = children[2].children if len(children) > 2 else []
        self.uses.add(name)
        whole = self.compile(children[0], bound)
        if name in MACROS:
            return self._macro(name, whole, arguments, bound)
        method = METHODS.get(name)
        if method is None:
            raise ExpressionError(f"unknown method {name}")
        values = self._many(arguments, bound)
        return lambda scope: _call(method, _charged(scope, whole(scope), *(value(scope) for value in values)))

    def _macro(self, name: str, whole: Evaluate, arguments: list[Any], bound: frozenset[str]) -> Evaluate:
        if len(arguments) != 2:
            raise ExpressionError(f"{name} takes a variable and an expression")
        variable = _variable(arguments[0])
        body = self.compile(arguments[1], bound | {variable})

        def results(scope: ExpressionScope) -> list[tuple[Any, Any]]:
            items = whole(scope)
            _charge(scope, items, list_cost=1)
            return (
                [(item, body({**scope, variable: item})) for item in items or ()]
                if isinstance(items, (list, dict))
                else []
            )

        match name:
            case "all":
                return lambda scope: all(comparison.truthy(result) for _, result in results(scope))
            case "exists":
                return lambda scope: any(comparison.truthy(result) for _, result in results(scope))
            case "exists_one":
                return lambda scope: sum(comparison.truthy(result) for _, result in results(scope)) == 1
            case "filter":
                return lambda scope: [item for item, result in results(scope) if comparison.truthy(result)]
        return lambda scope: [result for _, result in results(scope)]

    def _ident(self, children: list[Any], bound: frozenset[str]) -> Evaluate:
        name = str(children[0])
        if name not in bound:
            if name not in ROOTS:
                raise ExpressionError(f"unknown variable {name}; use {', '.join(sorted(ROOTS))}")
            self.roots.add(name)
        return lambda scope: scope.get(name)

    def _ident_arg(self, children: list[Any], bound: frozenset[str]) -> Evaluate:
        name = str(children[0])
        self.uses.add(name)
        values = self._many(children[1].children if len(children) > 1 else [], bound)
        if name == "has":
            return lambda scope: values[0](scope) is not None
        function = FUNCTIONS.get(name)
        if function is None:
            raise ExpressionError(f"unknown function {name}")
        return lambda scope: _call(function, _charged(scope, *(value(scope) for value in values)))

    def _literal(self, children: list[Any], _bound: frozenset[str]) -> Evaluate:
        value = _read_literal(children[0])
        return lambda _scope: value

    def _paren_expr(self, children: list[Any], bound: frozenset[str]) -> Evaluate:
        return self.compile(children[0], bound)

    def _list_lit(self, children: list[Any], bound: frozenset[str]) -> Evaluate:
        values = self._many(children[0].children if children else [], bound)
        return lambda scope: [value(scope) for value in values]

    def _map_lit(self, children: list[Any], bound: frozenset[str]) -> Evaluate:
        values = self._many(children[0].children if children else [], bound)
        return lambda scope: {
            comparison.text(key(scope)): value(scope) for key, value in zip(values[::2], values[1::2], strict=True)
        }


def _read_literal(token: lark.Token) -> Any:
    text = str(token)
    constants = {"true": True, "false": False, "null": None}
    if text in constants:
        return constants[text]
    try:
        return ast.literal_eval(text.removesuffix("u") if token.type == "UINT_LIT" else text)
    except (SyntaxError, ValueError) as error:
        raise ExpressionError(f"{text} is not a literal") from error


def _variable(node: Any) -> str:
    while isinstance(node, lark.Tree) and len(node.children) == 1:
        node = node.children[0]
    if not isinstance(node, lark.Token):
        raise ExpressionError("a macro's first argument must be a name")
    return str(node)


def _member(whole: Any, key: Any) -> Any:
    if isinstance(whole, dict):
        return whole.get(key) if isinstance(key, str) else None
    if isinstance(whole, list) and isinstance(key, int) and not isinstance(key, bool) and 0 <= key < len(whole):
        return whole[key]
    return None


def _ordered(compare: Callable[[Any, Any], bool], left: Any, right: Any) -> bool:
    return comparison.ordered(left, right, compare)


def _is_in(item: Any, items: Any) -> bool:
    if isinstance(items, (list, dict)):
        return any(comparison.equal(item, other) for other in items)
    return isinstance(items, str) and isinstance(item, str) and item in items


def _with_numbers(operate: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def on_numbers(left: Any, right: Any) -> Any:
        numbers = comparison.number(left), comparison.number(right)
        if None in numbers:
            return None
        try:
            return operate(*numbers)
        except ArithmeticError:
            return None

    return on_numbers


def _call(function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
    try:
        return function(*arguments)
    except (TypeError, ValueError, OverflowError):
        return None
