"""Where a file uses steps."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from skills.checks.source import Source

METHODS = frozenset(("run", "sleep", "sleep_until", "wait_for_event", "invoke", "invoke_by_id", "send_event"))


@dataclass(frozen=True)
class StepCall:
    """`method` is the step's method."""

    line: int
    method: str
    step_id: ast.expr | None
    call: ast.Call


def step_calls(source: Source, within: Iterable[ast.AST]) -> Iterator[StepCall]:
    """Every use of a step there, also by `functools.partial(ctx.step.run, "id", …)`."""
    for node in within:
        if not isinstance(node, ast.Call):
            continue
        if (method := step_method(source, node.func)) is not None:
            yield StepCall(node.lineno, method, _argument(node, 0), node)
        elif (handed := partial_of(source, node)) is not None and (method := step_method(source, handed)) is not None:
            yield StepCall(node.lineno, method, _argument(node, 1), node)


def step_method(source: Source, func: ast.expr) -> str | None:
    """Which method of a step this is, if it is one."""
    match func:
        case ast.Attribute(attr=attr, value=ast.Attribute(attr="step")) if attr in METHODS:
            return attr
        case ast.Attribute(attr=attr, value=ast.Name(id=name)) if attr in METHODS and name in source.steps.steps:
            return attr
        case ast.Attribute(attr=attr, value=value) if attr in METHODS and source.steps.is_step(value):
            return attr
        case _:
            return None


def partial_of(source: Source, call: ast.Call) -> ast.expr | None:
    """What `functools.partial` is made of here."""
    return call.args[0] if call.args and source.names.dotted(call.func) == "functools.partial" else None


def _argument(call: ast.Call, position: int) -> ast.expr | None:
    if len(call.args) > position:
        return call.args[position]
    return next((one.value for one in call.keywords if one.arg == "step_id"), None)
