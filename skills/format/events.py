"""Events and functions reserved for the engine and Loopwright, which a skill may not use."""

from __future__ import annotations

import re
from collections.abc import Iterator

from core.events import APP_ID, AgentEvent
from skills.format.problem import Overreach, SkillProblem

_EVENT_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,199}")
_ENGINES = "inngest/"
# Events of this prefix invoke functions and report changes of skills.
_SKILL_PREFIX = "skill/"


def wrong_event(name: str) -> str | None:
    """Return why a skill may not use an event of this name, None if it may."""
    if name.startswith(_ENGINES):
        return f"{name} is the engine's own"
    if belongs_to_others(name):
        return f"{name} is Loopwright's own"
    if not _EVENT_NAME.fullmatch(name):
        return f"{name!r} is not a valid event name; write one such as shop/order.placed"
    return None


def belongs_to_others(name: str) -> bool:
    """Return whether an event of this name is reserved for the engine or Loopwright."""
    return name.startswith((_ENGINES, _SKILL_PREFIX)) or name in {event.name for event in _our_events(AgentEvent)}


def wrong_invoke(full_id: str) -> str | None:
    """Return why a skill may not start the function with this engine-wide id, such as `app-function`; else None."""
    return f"{full_id} is Loopwright's own" if full_id.startswith(f"{APP_ID}-") else None


def engine_function_id(named: str) -> str:
    """Return the engine-wide id of a function that a manifest names as `skill-other/work`."""
    return named.replace("/", "-", 1)


def wrong_event_problem(line: int, name: str, reason: str, fix: str) -> SkillProblem:
    """Return the problem of a file that names an event it may not use."""
    return (Overreach if belongs_to_others(name) else SkillProblem)(line, reason, fix)


def _our_events(event: type[AgentEvent]) -> Iterator[type[AgentEvent]]:
    """Yield every class below this one."""
    for one in event.__subclasses__():
        yield one
        yield from _our_events(one)
