"""Events and functions that belong to somebody else: a skill may not listen to them, send or start them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from core.events import APP_ID, AgentEvent
from skills.format.problem import Overreach, SkillProblem

_EVENT_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,199}")
_ENGINES = "inngest/"
# Functions are invoked by events of this name, and what becomes of a skill is told by them.
_SKILL_PREFIX = "skill/"


def wrong_event(name: str) -> str | None:
    """Why a skill may not have to do with an event of this name, or None."""
    if name.startswith(_ENGINES):
        return f"{name} is the engine's own"
    if belongs_to_others(name):
        return f"{name} is Loopwright's own"
    if not _EVENT_NAME.fullmatch(name):
        return f"{name!r} is no name of an event, such as shop/order.placed"
    return None


def belongs_to_others(name: str) -> bool:
    """Whether an event of this name is the engine's or Loopwright's."""
    return name.startswith((_ENGINES, _SKILL_PREFIX)) or name in {event.name for event in _our_events(AgentEvent)}


def wrong_invoke(full_id: str) -> str | None:
    """Why a skill may not start the function with this id of an engine, in which a hyphen follows the app; or None."""
    return f"{full_id} is Loopwright's own" if full_id.startswith(f"{APP_ID}-") else None


def engine_function_id(named: str) -> str:
    """The engine's id of a function that a manifest names, as `skill-other/work`."""
    return named.replace("/", "-", 1)


def wrong_event_problem(line: int, name: str, reason: str, fix: str) -> SkillProblem:
    """What is said of a file that names a wrong event."""
    return (Overreach if belongs_to_others(name) else SkillProblem)(line, reason, fix)


def _our_events(event: type[AgentEvent]) -> Iterator[type[AgentEvent]]:
    for one in event.__subclasses__():
        yield one
        yield from _our_events(one)
