"""The event that invokes one function by hand, whatever its triggers; no other function hears it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.errors import InvalidError
from skills.book.versions import CheckedVersion, is_failure_handler

INVOKE_EVENT_PREFIX = "skill/invoked."


def invoke_event_name(stem: str, function_id: str) -> str:
    """The event that begins a run of this function and of no other."""
    return f"{INVOKE_EVENT_PREFIX}{stem}.{function_id}"


def add_invoke_trigger(stem: str, function: Mapping[str, Any]) -> dict[str, Any]:
    """The function's registration, heard by its own event too; a handler of failures stays as it is."""
    if is_failure_handler(function):
        return dict(function)
    function_id = str(function["id"]).removeprefix(f"skill-{stem}-")
    own = {"event": invoke_event_name(stem, function_id)}
    triggers = [trigger for trigger in function.get("triggers", []) if trigger != own]
    return {**function, "triggers": [*triggers, own]}


def choose_function(version: CheckedVersion, function_id: str | None) -> str:
    """The function that is meant: the named one, or the file's only one. Raises InvalidError with their names."""
    names = [
        name
        for name, function in zip(version.function_ids, version.functions, strict=True)
        if not is_failure_handler(function)
    ]
    if function_id in names:
        return str(function_id)
    if function_id is None and len(names) == 1:
        return names[0]
    said = "say which function" if function_id is None else f"there is no function {function_id[:80]}"
    raise InvalidError(f"{said}; {version.skill_id} has {', '.join(names)}")
