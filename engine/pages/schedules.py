"""When crons come next."""

from collections.abc import Iterable
from dataclasses import dataclass

from engine.clock import to_datetime
from engine.cron import jitter_of, parse_cron
from engine.function import Function


@dataclass(frozen=True)
class Schedule:
    """`at` is the next run in milliseconds; `local` the same instant as the cron's own zone has it."""

    function: Function
    cron: str
    jitter_ms: int
    at: int
    local: str


def schedules_of(functions: Iterable[Function], now: int) -> list[Schedule]:
    """The next run of each cron of these functions, soonest first."""
    found = [
        _next(function, trigger.text, trigger.jitter_ms, now)
        for function in functions
        for trigger in function.cron_triggers
    ]
    return sorted(found, key=lambda schedule: schedule.at)


def _next(function: Function, text: str, jitter_ms: int, now: int) -> Schedule:
    cron = parse_cron(text)
    # A tick that has passed may still be to come, by its jitter.
    tick = cron.next_after(now - jitter_ms)
    while (at := tick + jitter_of(function.slug, tick, jitter_ms)) <= now:
        tick = cron.next_after(tick)
    local = to_datetime(at).astimezone(cron.zone)
    return Schedule(function, text, jitter_ms, at, f"{local:%a %d %b %Y, %H:%M:%S} {cron.zone}")
