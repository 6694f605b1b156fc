"""Evaluating a function's keys for an event."""

from typing import Any

from engine.event import Event
from engine.expressions import Expression
from engine.function import Function
from engine.json_text import dumps
from engine.slots import Limit

_MOST_PRIORITY_S = 600


def key_value(expression: Expression | None, event: Event) -> str:
    """The key's value as text; one and the same for all events when there is no key."""
    return "" if expression is None else dumps(_evaluate(expression, event))


def concurrency_limits(function: Function, event: Event) -> list[Limit]:
    """The limits that every call of a run started by this event counts against."""
    found: list[Limit] = []
    for index, entry in enumerate(function.concurrency):
        if entry.limit == 0:
            continue
        scope = (
            f"fn:{function.id}:{index}"
            if entry.scope == "fn"
            else f"{entry.scope}:{entry.key.text if entry.key else ''}"
        )
        found.append((f"{scope}:{key_value(entry.key, event)}", entry.limit))
    return found


def priority_ms(function: Function, event: Event) -> int:
    """How much earlier than it came the run counts as queued, at most ten minutes either way."""
    if function.priority is None:
        return 0
    value = _evaluate(function.priority, event)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return 0
    return round(min(max(value, -_MOST_PRIORITY_S), _MOST_PRIORITY_S) * 1000)


def _evaluate(expression: Expression, event: Event) -> Any:
    return expression.evaluate({"event": event.body})
