"""When schedules fire next, for people to read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from itertools import islice
from typing import Any

from engine.formats.clock import to_datetime, to_ms
from engine.formats.cron import parse_cron

_SHOWN = 3


def next_of(triggers: Iterable[Mapping[str, Any]], after: datetime, count: int = _SHOWN) -> list[datetime]:
    """The next times of all schedules among these triggers, soonest first, in UTC; none of one that cannot be read.

    They are reckoned by the embedded engine's own rule, also on the nights when clocks change. A server that reckons
    otherwise on such a night is held to one run a date by the start guard.
    """
    times = {at for trigger in triggers if "cron" in trigger for at in _next(str(trigger["cron"]), after, count)}
    return sorted(times)[:count]


def _next(text: str, after: datetime, count: int) -> list[datetime]:
    try:
        cron = parse_cron(text)
    except ValueError:
        return []
    return [to_datetime(tick) for tick in islice(cron.all_after(to_ms(after)), count)]
