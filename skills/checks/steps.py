"""Step ids: literal, and one place for each in a function and what it calls. They are how a run finds its way back."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from skills.checks.declared import Declared
from skills.checks.reached import reached
from skills.checks.source import Source
from skills.checks.step_calls import step_calls
from skills.checks.step_flow import check_step_flow
from skills.checks.step_places import check_step_places
from skills.problem import Problem


def check_steps(source: Source) -> Iterator[Problem]:
    for one in step_calls(source, source.nodes):
        if source.names.text(one.step_id) is None:
            reason = "this step has no id" if one.step_id is None else "the id of this step is computed"
            yield Problem(one.line, reason, "give it one literal id; in a loop the engine counts its uses by itself")
    yield from _gateway(source)
    yield from check_step_flow(source)
    yield from check_step_places(source)
    told: set[tuple[int, str]] = set()
    for declared in source.declared:
        for handler in (declared.handler, declared.on_failure):
            if handler is not None:
                for problem in _twice(source, declared, handler):
                    if (key := (problem.line or 0, problem.reason)) not in told:
                        told.add(key)
                        yield problem


def _twice(source: Source, declared: Declared, handler: ast.AST) -> Iterator[Problem]:
    seen: dict[str, int] = {}
    calls = list(step_calls(source, reached(source, handler)))
    for one in sorted(calls, key=lambda call: (call.line, call.call.col_offset)):
        step_id = source.names.text(one.step_id)
        if step_id is None:
            continue
        if step_id in seen:
            reason = f"{declared.label}: the step id {step_id!r} is also used on line {seen[step_id]}"
            yield Problem(one.line, reason, "give each step of a function an id of its own")
        else:
            seen[step_id] = one.line


def _gateway(source: Source) -> Iterator[Problem]:
    for node in source.nodes:
        match node:
            case ast.Attribute(attr="infer", value=ast.Attribute(attr="ai")):
                fix = "ask skills.kit.llm in ctx.step.run, and set permissions.model_budget_per_day"
                yield Problem(node.lineno, "step.ai.infer would pass by the skill's budget and is refused", fix)
            case _:
                continue
