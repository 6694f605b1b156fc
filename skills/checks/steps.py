"""Check steps: literal unique ids, called where they are named, never nested, swallowed or passed on.

The SDK runs a handler again for each step and interrupts it there with a BaseException. It recognizes finished steps
by their ids.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Set

from skills.checks.source import DeclaredFunction, SkillSource, own_functions, receivers
from skills.checks.step_calls import (
    direct_nodes,
    functions_with_steps,
    nodes_called,
    nodes_reached,
    partial_of,
    step_calls,
    step_method,
)
from skills.checks.syntax import split_words
from skills.format.problem import SkillProblem

_FLOW_FIX = "call ctx.step.run(…) itself, or pass ctx, so that its id can be read"
_READERS = frozenset(("builtins.getattr", "operator.attrgetter"))


def check_step_flow(source: SkillSource) -> Iterator[SkillProblem]:
    """Yield uses of `ctx.step` that hide which step is called."""
    yield from _passed_methods(source)
    yield from _passed_steps(source)
    yield from _read_by_name(source)


def _passed_methods(source: SkillSource) -> Iterator[SkillProblem]:
    """Yield step methods that are not called where they are named."""
    direct: set[int] = set()
    for node in source.nodes:
        if isinstance(node, ast.Call):
            direct.add(id(node.func))
            direct.add(id(partial_of(source, node)))
    for node in source.nodes:
        if isinstance(node, ast.Attribute) and id(node) not in direct and step_method(source, node) is not None:
            reason = f"step.{node.attr} is passed on instead of called"
            yield SkillProblem(node.lineno, reason, f"call ctx.step.{node.attr} itself, so that its id can be read")


def _passed_steps(source: SkillSource) -> Iterator[SkillProblem]:
    """Yield uses of `ctx.step` as a value, other than set to a name or passed to a function of the file."""
    known: set[int] = set()
    own = own_functions(source.nodes)
    for node in source.nodes:
        match node:
            case ast.Attribute(value=value):
                known.add(id(value))
            case ast.Assign(targets=[ast.Name()], value=value) | ast.NamedExpr(value=value):
                known.add(id(value))
            case ast.AnnAssign(value=ast.expr() as value):
                known.add(id(value))
            case ast.Call():
                known |= {id(value) for value, _ in receivers(node, own)}
            case _:
                continue
    for node in source.nodes:
        match node:
            case ast.Attribute(ctx=ast.Load()) | ast.Name(ctx=ast.Load()) if id(node) not in known:
                if source.steps.is_step(node):
                    yield SkillProblem(
                        node.lineno, f"{source.shown(node)} is passed on, so its steps cannot be checked", _FLOW_FIX
                    )
            case _:
                continue


def _read_by_name(source: SkillSource) -> Iterator[SkillProblem]:
    """Yield steps that are read from their context by a text or a pattern."""
    for node in source.nodes:
        match node:
            case ast.Call(func=func, args=arguments) if source.names.dotted(func) in _READERS:
                of = arguments[0] if arguments else None
                is_ours = source.steps.is_step(of) or (isinstance(of, ast.Name) and of.id in source.steps.contexts)
                names = [one.value for one in arguments if isinstance(one, ast.Constant) and isinstance(one.value, str)]
                if any("step" in name.split(".") for name in names) or (is_ours and not names):
                    yield SkillProblem(node.lineno, "a step is read from its context by a text", _FLOW_FIX)
            case ast.MatchClass(kwd_attrs=names) if "step" in names:
                yield SkillProblem(node.lineno, "a step is read from its context by a pattern", _FLOW_FIX)
            case _:
                continue


_EFFECTS = split_words(
    """llm notify ask_agent claim release runs memory.search http.get http.post http.put http.patch http.delete"""
)
_EVERYTHING = split_words("builtins.BaseException builtins.BaseExceptionGroup")
_CAUGHT = "this also catches the error by which the SDK ends a request, and the step would never finish"


def check_step_places(source: SkillSource) -> Iterator[SkillProblem]:
    """Yield steps inside steps, steps whose interrupt is caught, and effects outside of steps."""
    own = functions_with_steps(source)
    yield from _nested(source, own)
    yield from _swallowed(source, own)
    told: set[int] = set()
    for declared in source.declared:
        for problem in _effects_outside(source, declared, own):
            if problem.line is None or problem.line not in told:
                told.add(problem.line or 0)
                yield problem


def _nested(source: SkillSource, own: Set[str]) -> Iterator[SkillProblem]:
    """Yield steps that contain another step, which would end the outer one for good."""
    for outer in step_calls(source, source.nodes):
        if outer.method != "run":
            continue
        if _takes_steps(source, _run_later(outer.call), own):
            reason = "this step contains another step, which the engine does not allow"
            yield SkillProblem(outer.line, reason, "run one after the other, and pass on what the first one returned")


def _swallowed(source: SkillSource, own: Set[str]) -> Iterator[SkillProblem]:
    """Yield handlers that catch the SDK's interrupt, so that the step would run again at every request."""
    fix = "catch inngest.StepError, which a failed step raises"
    for node in source.nodes:
        match node:
            case ast.Try(body=body) | ast.TryStar(body=body) if _takes_steps(source, direct_nodes(body), own):
                for handler in node.handlers:
                    if handler.type is None or _is_everything(source, handler.type):
                        yield SkillProblem(handler.lineno, _CAUGHT, fix)
                for last in _leaving(node.finalbody):
                    yield SkillProblem(last.lineno, _CAUGHT, "leave the function after the `finally`, not within it")
            case ast.With(items=items, body=body) if any(_suppresses(source, one.context_expr) for one in items):
                if _takes_steps(source, direct_nodes(body), own):
                    yield SkillProblem(node.lineno, _CAUGHT, fix)
            case _:
                continue


def _effects_outside(source: SkillSource, declared: DeclaredFunction, own: Set[str]) -> Iterator[SkillProblem]:
    """Yield effects outside of steps, which would happen again after every step."""
    handler = declared.handler
    if not isinstance(handler, ast.FunctionDef) or handler.name not in own:
        return
    for node in nodes_called(source, handler.body):
        if isinstance(node, ast.Call):
            dotted = source.names.dotted(node.func) or ""
            name = dotted.removeprefix("skills.kit.")
            if name != dotted and name in _EFFECTS:
                reason = f"{name} is called outside of a step, so it would be called again after each step"
                yield SkillProblem(node.lineno, reason, 'put it into a step: ctx.step.run("some-id", lambda: …)')


def _takes_steps(source: SkillSource, nodes: Iterable[ast.AST], own: Set[str]) -> bool:
    """Return whether these nodes use a step, or name a function of the file that does."""
    nodes = list(nodes)
    named = any(isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in own for node in nodes)
    return named or next(step_calls(source, nodes), None) is not None


def _run_later(call: ast.Call) -> Iterator[ast.AST]:
    """Yield the nodes in a step's arguments that run inside the step, not before it."""
    waiting: list[ast.AST] = [*call.args, *(one.value for one in call.keywords)]
    while waiting:
        node = waiting.pop()
        match node:
            case ast.Lambda(body=body):
                yield from ast.walk(body)
            case ast.Call(args=arguments, keywords=named):
                # The call itself runs before the step; its arguments may run in it, as with a partial.
                waiting += [*arguments, *named]
            case ast.Name():
                yield node
            case _:
                waiting += ast.iter_child_nodes(node)


def _suppresses(source: SkillSource, context: ast.expr) -> bool:
    return (
        isinstance(context, ast.Call)
        and source.names.dotted(context.func) == "contextlib.suppress"
        and any(_is_everything(source, one) for one in context.args)
    )


def _is_everything(source: SkillSource, caught: ast.expr) -> bool:
    whole = source.names.resolved(caught)
    several = whole.elts if isinstance(whole, ast.Tuple) else [whole]
    return any(source.names.dotted(source.names.resolved(one)) in _EVERYTHING for one in several)


def _leaving(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the `return` statements in a `finally`, which discard the error."""
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Return):
                yield node


def check_steps(source: SkillSource) -> Iterator[SkillProblem]:
    """Yield all problems of steps."""
    for one in step_calls(source, source.nodes):
        if source.names.text(one.step_id) is None:
            reason = "this step has no id" if one.step_id is None else "the id of this step is computed"
            yield SkillProblem(
                one.line, reason, "give it one literal id; in a loop the engine counts its uses by itself"
            )
    yield from _gateway(source)
    yield from check_step_flow(source)
    yield from check_step_places(source)
    told: set[tuple[int, str]] = set()
    for declared in source.declared:
        for handler in (declared.handler, declared.on_failure):
            if handler is not None:
                for problem in _repeated_ids(source, declared, handler):
                    if (key := (problem.line or 0, problem.reason)) not in told:
                        told.add(key)
                        yield problem


def _repeated_ids(source: SkillSource, declared: DeclaredFunction, handler: ast.AST) -> Iterator[SkillProblem]:
    seen: dict[str, int] = {}
    calls = list(step_calls(source, nodes_reached(source, handler)))
    for one in sorted(calls, key=lambda call: (call.line, call.call.col_offset)):
        step_id = source.names.text(one.step_id)
        if step_id is None:
            continue
        if step_id in seen:
            reason = f"{declared.label}: the step id {step_id!r} is also used on line {seen[step_id]}"
            yield SkillProblem(one.line, reason, "give each step of a function an id of its own")
        else:
            seen[step_id] = one.line


def _gateway(source: SkillSource) -> Iterator[SkillProblem]:
    for node in source.nodes:
        match node:
            case ast.Attribute(attr="infer", value=ast.Attribute(attr="ai")):
                fix = "ask skills.kit.llm in ctx.step.run, and set permissions.model_budget_per_day"
                yield SkillProblem(node.lineno, "step.ai.infer would bypass the skill's budget and is refused", fix)
            case _:
                continue
