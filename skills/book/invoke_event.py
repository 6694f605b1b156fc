"""The event that starts one function by hand, whatever its triggers; no other function listens to it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.errors import InvalidError
from skills.book.versions import CheckedVersion, is_failure_handler

INVOKE_EVENT_PREFIX = "skill/invoked."


def invoke_event_name(stem: str, function_id: str) -> str:
    """Return the name of the event that starts this function and no other."""
    return f"{INVOKE_EVENT_PREFIX}{stem}.{function_id}"


def add_invoke_trigger(stem: str, function: Mapping[str, Any]) -> dict[str, Any]:
    """Add the invoke event to the triggers of a registered function, unless it is a failure handler."""
    if is_failure_handler(function):
        return dict(function)
    function_id = str(function["id"]).removeprefix(f"skill-{stem}-")
    own = {"event": invoke_event_name(stem, function_id)}
    triggers = [trigger for trigger in function.get("triggers", []) if trigger != own]
    return {**function, "triggers": [*triggers, own]}


def choose_function(version: CheckedVersion, function_id: str | None) -> str:
    """Return the named function, or the only one. Raises InvalidError with the names there are."""
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
