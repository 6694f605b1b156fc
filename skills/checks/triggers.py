"""Check triggers, waits and cancellations: literal schedules, and only events that the manifest names."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import islice

from skills.checks.source import SkillSource
from skills.checks.step_calls import step_calls
from skills.format.events import wrong_event, wrong_event_problem
from skills.format.expressions import wrong_expression
from skills.format.problem import SkillProblem
from skills.format.schedule import wrong_cron, wrong_jitter

MOST_TRIGGERS = 9
"""Engines accept ten; one is used for the event that invokes a function by hand."""
_MOST_WAITS = 100
_EXPRESSION_FIX = "compare fields of the event: event.data.level == 'critical'"


def check_triggers(source: SkillSource) -> Iterator[SkillProblem]:
    """Yield wrong triggers, waits and cancel rules."""
    for declared in source.declared:
        if (trigger := declared.options.get("trigger")) is None:
            reason = f"{declared.label} has no trigger"
            yield SkillProblem(
                declared.call.lineno, reason, "give it an inngest.TriggerCron or an inngest.TriggerEvent"
            )
            continue
        whole = source.names.resolved(trigger)
        listed = list(whole.elts) if isinstance(whole, ast.List | ast.Tuple) else [whole]
        if not 1 <= len(listed) <= MOST_TRIGGERS:
            yield SkillProblem(trigger.lineno, f"a function has 1 to {MOST_TRIGGERS} triggers", "write them as a list")
        seen: set[str] = set()
        for one in listed[:MOST_TRIGGERS]:
            yield from _check_trigger(source, source.names.resolved(one))
            text = ast.dump(one)
            if text in seen:
                yield SkillProblem(one.lineno, "this trigger is listed twice", "leave one out")
            seen.add(text)
        yield from _check_cancels(source, declared.options.get("cancel"))
    yield from _check_waits(source)


def _check_trigger(source: SkillSource, node: ast.expr) -> Iterator[SkillProblem]:
    kind = source.names.dotted(node.func) if isinstance(node, ast.Call) else None
    if not isinstance(node, ast.Call) or kind not in ("inngest.TriggerCron", "inngest.TriggerEvent"):
        fix = "write inngest.TriggerCron(cron=…) or inngest.TriggerEvent(event=…) out"
        yield SkillProblem(node.lineno, "this trigger cannot be read", fix)
        return
    options = {one.arg: one.value for one in node.keywords}
    if kind == "inngest.TriggerCron":
        yield from _check_cron(source, node, options)
        return
    yield from _check_event(source, node.lineno, options.get("event"), "listens to")
    if (expression := options.get("expression")) is not None:
        if (text := source.names.text(expression)) is None:
            yield SkillProblem(expression.lineno, "the expression is computed", "write it as one literal string")
        elif (wrong := wrong_expression(text)) is not None:
            yield SkillProblem(expression.lineno, f"expression: {wrong}", _EXPRESSION_FIX)


def _check_cron(source: SkillSource, node: ast.Call, options: dict[str | None, ast.expr]) -> Iterator[SkillProblem]:
    text = source.names.text(options.get("cron"))
    if text is None:
        yield SkillProblem(node.lineno, "the schedule is computed", 'write it as one literal: cron="*/30 * * * *"')
    elif (wrong := wrong_cron(text)) is not None:
        fix = "write minute, hour, day, month, weekday, and TZ=Zone before them"
        yield SkillProblem(node.lineno, f"cron {text!r}: {wrong}", fix)
    if (jitter := options.get("jitter")) is not None:
        said = source.names.text(jitter)
        wrong = "the jitter is not a literal string" if said is None else wrong_jitter(said)
        if wrong is not None:
            yield SkillProblem(jitter.lineno, wrong, 'write it as jitter="30s"')


def _check_waits(source: SkillSource) -> Iterator[SkillProblem]:
    waits = (one for one in step_calls(source, source.nodes) if one.method == "wait_for_event")
    for one in islice(waits, _MOST_WAITS):
        options = {option.arg: option.value for option in one.call.keywords}
        yield from _check_event(source, one.line, options.get("event"), "waits for")
        if (expression := options.get("if_exp")) is not None:
            text = source.names.text(expression)
            # A computed expression may hold a value of the run, which is unknown here.
            if text is not None and (wrong := wrong_expression(text)) is not None:
                yield SkillProblem(expression.lineno, f"if_exp: {wrong}", "compare event.data and async.data")


def _check_cancels(source: SkillSource, cancels: ast.expr | None) -> Iterator[SkillProblem]:
    whole = source.names.resolved(cancels) if cancels is not None else None
    if whole is None or (isinstance(whole, ast.Constant) and whole.value is None):
        return
    rules = [source.names.resolved(one) for one in whole.elts] if isinstance(whole, ast.List | ast.Tuple) else [whole]
    for rule in rules:
        if isinstance(rule, ast.Call) and source.names.dotted(rule.func) == "inngest.Cancel":
            event = next((one.value for one in rule.keywords if one.arg == "event"), None)
            yield from _check_event(source, rule.lineno, event, "is cancelled by")
        else:
            yield SkillProblem(
                rule.lineno, "this cancel rule cannot be read", 'write [inngest.Cancel(event="a/b")] out'
            )


def _check_event(source: SkillSource, line: int, name: ast.expr | None, does: str) -> Iterator[SkillProblem]:
    """Yield the problem of an event's name; `does` says what the file does with the event, for the reason."""
    text = source.names.text(name)
    if text is None:
        yield SkillProblem(line, "the name of the event is computed", "write it as one literal string")
    elif (wrong := wrong_event(text)) is not None:
        yield wrong_event_problem(line, text, wrong, "listen to an event of your own")
    elif source.manifest is not None and text not in source.manifest.permissions.events.get("listen", []):
        reason = f"the file {does} {text}, which its manifest does not name"
        yield SkillProblem(line, reason, f'add it: "events": {{"listen": ["{text}"]}} in permissions')
