"""Step ids: literal, and one place for each in a function and what it calls. They are how a run finds its way back."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from skills.checks.declared import Declared
from skills.checks.source import Source
from skills.problem import Problem

METHODS = frozenset(("run", "sleep", "sleep_until", "wait_for_event", "invoke", "invoke_by_id", "send_event"))
_EFFECTS = ("llm", "notify", "ask_agent", "http.get", "http.post", "http.put", "http.patch", "http.delete")


@dataclass(frozen=True)
class StepCall:
    """`method` is the step's method; `arguments` what follows the id, by position."""

    line: int
    method: str
    step_id: ast.expr | None
    call: ast.Call


def step_calls(source: Source, within: Iterable[ast.AST]) -> Iterator[StepCall]:
    """Every use of a step there, also by `functools.partial(ctx.step.run, "id", …)`."""
    steps = source.steps
    for node in within:
        if not isinstance(node, ast.Call):
            continue
        if (method := _method(node.func, steps)) is not None:
            yield StepCall(node.lineno, method, _argument(node, 0), node)
        elif (handed := _partial(source, node)) is not None and (method := _method(handed, steps)) is not None:
            yield StepCall(node.lineno, method, _argument(node, 1), node)


def check_steps(source: Source) -> Iterator[Problem]:
    for one in step_calls(source, source.nodes):
        if source.names.text(one.step_id) is None:
            reason = "this step has no id" if one.step_id is None else "the id of this step is computed"
            yield Problem(one.line, reason, "give it one literal id; in a loop the engine counts its uses by itself")
    yield from _gateway(source)
    yield from _roundabout(source)
    yield from _swallowed(source)
    told: set[tuple[int, str]] = set()
    for declared in source.declared:
        for handler in (declared.handler, declared.on_failure):
            if handler is not None:
                for problem in _twice(source, declared, handler):
                    if (key := (problem.line or 0, problem.reason)) not in told:
                        told.add(key)
                        yield problem
        yield from _outside(source, declared)


def _twice(source: Source, declared: Declared, handler: ast.AST) -> Iterator[Problem]:
    seen: dict[str, int] = {}
    calls = list(step_calls(source, _reached(source, handler)))
    for one in sorted(calls, key=lambda call: (call.line, call.call.col_offset)):
        step_id = source.names.text(one.step_id)
        if step_id is None:
            continue
        if step_id in seen:
            reason = f"{declared.label}: the step id {step_id!r} is also used on line {seen[step_id]}"
            yield Problem(one.line, reason, "give each step of a function an id of its own")
        else:
            seen[step_id] = one.line


def _reached(source: Source, handler: ast.AST) -> list[ast.AST]:
    """The nodes of a handler and of the file's own functions that it names, directly or through others."""
    own: Mapping[str, ast.stmt] = {
        one.name: one for one in source.tree.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    declared = {id(one.handler) for one in source.declared}
    nodes: list[ast.AST] = []
    waiting: list[ast.AST] = [handler]
    visited: set[int] = set()
    while waiting:
        place = waiting.pop()
        if id(place) in visited:
            continue
        visited.add(id(place))
        inside = [node for part in _parts(place) for node in ast.walk(part)]
        nodes += inside
        for node in inside:
            named = own.get(node.id) if isinstance(node, ast.Name) else None
            # Another registered function has runs and steps of its own.
            if named is not None and id(named) not in declared:
                waiting.append(named)
    return nodes


def _parts(place: ast.AST) -> list[ast.AST]:
    """Its body, without the decorators, which name `on_failure` handlers."""
    match place:
        case ast.FunctionDef(body=body) | ast.AsyncFunctionDef(body=body):
            return list(body)
        case _:
            return [place]


def _gateway(source: Source) -> Iterator[Problem]:
    for node in source.nodes:
        match node:
            case ast.Attribute(attr="infer", value=ast.Attribute(attr="ai")):
                fix = "ask skills.kit.llm in ctx.step.run, and set permissions.model_budget_per_day"
                yield Problem(node.lineno, "step.ai.infer would pass by the skill's budget and is refused", fix)
            case _:
                continue


def _roundabout(source: Source) -> Iterator[Problem]:
    """A step method that is not called where it is named: nobody can say which ids it gets."""
    steps = source.steps
    direct: set[int] = set()
    for node in source.nodes:
        if isinstance(node, ast.Call):
            direct.add(id(node.func))
            direct.add(id(_partial(source, node)))
    for node in source.nodes:
        if isinstance(node, ast.Attribute) and id(node) not in direct and _method(node, steps) is not None:
            reason = f"step.{node.attr} is handed on instead of called"
            yield Problem(node.lineno, reason, f"call ctx.step.{node.attr} itself, so that its id can be read")


def _swallowed(source: Source) -> Iterator[Problem]:
    """The SDK ends a request by a BaseException: whoever catches it has the step run again at every request."""
    for node in source.nodes:
        if not isinstance(node, ast.Try) or next(step_calls(source, _directly(node.body)), None) is None:
            continue
        for handler in node.handlers:
            if handler.type is None or source.names.dotted(handler.type) == "builtins.BaseException":
                reason = "this also catches what the SDK ends a request by, and the step would never be done"
                yield Problem(handler.lineno, reason, "catch inngest.StepError, which a failed step raises")


def _outside(source: Source, declared: Declared) -> Iterator[Problem]:
    """Effects between steps would happen again after every step."""
    handler = declared.handler
    if not isinstance(handler, ast.FunctionDef) or next(step_calls(source, ast.walk(handler)), None) is None:
        return
    for node in _directly(handler.body):
        if isinstance(node, ast.Call):
            dotted = source.names.dotted(node.func) or ""
            name = dotted.removeprefix("skills.kit.")
            if name != dotted and name in _EFFECTS:
                reason = f"{name} stands between steps, and so would be called again after each of them"
                yield Problem(node.lineno, reason, 'put it into a step: ctx.step.run("some-id", lambda: …)')


def _directly(body: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """What runs when the handler runs: not the bodies of the functions and lambdas in it."""
    waiting = list(body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            continue
        yield node
        waiting += ast.iter_child_nodes(node)


def _method(func: ast.expr, steps: frozenset[str]) -> str | None:
    match func:
        case ast.Attribute(attr=attr, value=ast.Attribute(attr="step")) if attr in METHODS:
            return attr
        case ast.Attribute(attr=attr, value=ast.Name(id=name)) if attr in METHODS and name in steps:
            return attr
        case _:
            return None


def _partial(source: Source, call: ast.Call) -> ast.expr | None:
    """What `functools.partial` is made of here."""
    return call.args[0] if call.args and source.names.dotted(call.func) == "functools.partial" else None


def _argument(call: ast.Call, position: int) -> ast.expr | None:
    if len(call.args) > position:
        return call.args[position]
    return next((one.value for one in call.keywords if one.arg == "step_id"), None)
