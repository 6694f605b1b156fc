"""Places where steps, or what belongs into them, do harm: within one another, between them, and where they are caught.

The SDK runs a handler anew for each step, and ends it there by an error of its own that is no Exception.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Set

from skills.checks.declared import Declared
from skills.checks.reached import called, directly, stepping
from skills.checks.source import Source
from skills.checks.step_calls import step_calls
from skills.checks.word_list import words
from skills.problem import Problem

_EFFECTS = words(
    """llm notify ask_agent claim release runs memory.search http.get http.post http.put http.patch http.delete"""
)
_EVERYTHING = words("builtins.BaseException builtins.BaseExceptionGroup")
_CAUGHT = "this also catches what the SDK ends a request by, and the step would never be done"


def check_step_places(source: Source) -> Iterator[Problem]:
    own = stepping(source)
    yield from _nested(source, own)
    yield from _swallowed(source, own)
    told: set[int] = set()
    for declared in source.declared:
        for problem in _between(source, declared, own):
            if problem.line is None or problem.line not in told:
                told.add(problem.line or 0)
                yield problem


def _nested(source: Source, own: Set[str]) -> Iterator[Problem]:
    """A step that is taken while another one runs ends that one for good."""
    for outer in step_calls(source, source.nodes):
        if outer.method != "run":
            continue
        if _takes_steps(source, _run_later(outer.call), own):
            reason = "a step is taken within this step, which the engine does not allow"
            yield Problem(outer.line, reason, "take one after the other, and hand on what the first one returned")


def _swallowed(source: Source, own: Set[str]) -> Iterator[Problem]:
    """Who catches what ends a request has the step run again at every request."""
    fix = "catch inngest.StepError, which a failed step raises"
    for node in source.nodes:
        match node:
            case ast.Try(body=body) | ast.TryStar(body=body) if _takes_steps(source, directly(body), own):
                for handler in node.handlers:
                    if handler.type is None or _is_everything(source, handler.type):
                        yield Problem(handler.lineno, _CAUGHT, fix)
                for last in _leaving(node.finalbody):
                    yield Problem(last.lineno, _CAUGHT, "leave the function after the `finally`, not within it")
            case ast.With(items=items, body=body) if any(_suppresses(source, one.context_expr) for one in items):
                if _takes_steps(source, directly(body), own):
                    yield Problem(node.lineno, _CAUGHT, fix)
            case _:
                continue


def _between(source: Source, declared: Declared, own: Set[str]) -> Iterator[Problem]:
    """Effects between steps would happen again after every step."""
    handler = declared.handler
    if not isinstance(handler, ast.FunctionDef) or handler.name not in own:
        return
    for node in called(source, handler.body):
        if isinstance(node, ast.Call):
            dotted = source.names.dotted(node.func) or ""
            name = dotted.removeprefix("skills.kit.")
            if name != dotted and name in _EFFECTS:
                reason = f"{name} stands between steps, and so would be called again after each of them"
                yield Problem(node.lineno, reason, 'put it into a step: ctx.step.run("some-id", lambda: …)')


def _takes_steps(source: Source, nodes: Iterable[ast.AST], own: Set[str]) -> bool:
    """Whether a step is taken here, or a function of the file named that takes one."""
    nodes = list(nodes)
    named = any(isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in own for node in nodes)
    return named or next(step_calls(source, nodes), None) is not None


def _run_later(call: ast.Call) -> Iterator[ast.AST]:
    """What of a step's arguments runs in the step, and not before it."""
    waiting: list[ast.AST] = [*call.args, *(one.value for one in call.keywords)]
    while waiting:
        node = waiting.pop()
        match node:
            case ast.Lambda(body=body):
                yield from ast.walk(body)
            case ast.Call(args=arguments, keywords=named):
                # What it calls runs before; what that is handed may run in the step, as with a partial.
                waiting += [*arguments, *named]
            case ast.Name():
                yield node
            case _:
                waiting += ast.iter_child_nodes(node)


def _suppresses(source: Source, context: ast.expr) -> bool:
    return (
        isinstance(context, ast.Call)
        and source.names.dotted(context.func) == "contextlib.suppress"
        and any(_is_everything(source, one) for one in context.args)
    )


def _is_everything(source: Source, caught: ast.expr) -> bool:
    whole = source.names.resolved(caught)
    several = whole.elts if isinstance(whole, ast.Tuple) else [whole]
    return any(source.names.dotted(source.names.resolved(one)) in _EVERYTHING for one in several)


def _leaving(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """What in a `finally` throws away the error that it stands for."""
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Return):
                yield node
