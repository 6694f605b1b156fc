"""Events that belong to somebody else: a skill neither listens to them nor sends them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from core.events import Event

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,199}")
# Functions are invoked by events of this name, and what becomes of a skill is told by them.
_PREFIX = "skill/"
_ENGINES, _OURS = " is the engine's own", " is Loopwright's own"
OF_OTHERS = (_ENGINES, _OURS)
"""How the reasons end where an event belongs to somebody else."""


def wrong_event(name: str) -> str | None:
    """Why a skill may not have to do with an event of this name, or None."""
    if name.startswith("inngest/"):
        return f"{name}{_ENGINES}"
    if name.startswith(_PREFIX) or name in {event.name for event in _ours(Event)}:
        return f"{name}{_OURS}"
    if not _NAME.fullmatch(name):
        return f"{name!r} is no name of an event, such as shop/order.placed"
    return None


def _ours(event: type[Event]) -> Iterator[type[Event]]:
    for one in event.__subclasses__():
        yield one
        yield from _ours(one)
