"""Schedules: parse cron text as the engines do, and find text that not every engine accepts.

A cron text has five fields and may begin with a time zone: `TZ=Europe/Paris 0 8 * * 1-5`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property, lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from croniter import croniter

_UTC = "UTC"
_ZONE_MARKS = ("TZ=", "CRON_TZ=")


@dataclass(frozen=True)
class CronField:
    """One of the five fields.

    `names` mean the numbers from `low` on. `alias` is a second number for `low` that not every engine accepts.
    """

    name: str
    low: int
    high: int
    names: Sequence[str] = ()
    alias: int | None = None


CRON_FIELDS = (
    CronField("minute", 0, 59),
    CronField("hour", 0, 23),
    CronField("day of the month", 1, 31),
    CronField("month", 1, 12, ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")),
    CronField("day of the week", 0, 6, ("sun", "mon", "tue", "wed", "thu", "fri", "sat"), alias=7),
)


@dataclass(frozen=True)
class CronSchedule:
    """A parsed schedule. `values` are the numbers each field allows; `odd` describes what only some engines accept."""

    zone: ZoneInfo
    values: tuple[frozenset[int], ...]
    odd: tuple[str, ...]
    _stars: tuple[bool, ...]

    @cached_property
    def fields(self) -> str:
        """The five fields, normalized: equal values give equal text."""
        stars_and_values = zip(self._stars, self.values, strict=True)
        return " ".join("*" if star else ",".join(map(str, sorted(found))) for star, found in stars_and_values)

    @property
    def text(self) -> str:
        """The whole schedule, normalized: equal moments give equal text."""
        return self.fields if self.zone.key == _UTC else f"TZ={self.zone.key} {self.fields}"

    @property
    def is_daily(self) -> bool:
        """Whether it fires at most once on any local date: at one minute of one hour."""
        return all(len(found) == 1 for found in self.values[:2])

    @property
    def is_of_every_hour(self) -> bool:
        """Whether it fires in every hour, on days of 23 or 25 hours too."""
        return len(self.values[1]) == 24

    def at(self, hour: int, minute: int) -> CronSchedule:
        """Return the same schedule at this time of day only."""
        times = (frozenset((minute,)), frozenset((hour,)))
        return replace(self, values=(*times, *self.values[2:]), _stars=(False, False, *self._stars[2:]))


@lru_cache(maxsize=1024)
def read_schedule(text: str) -> CronSchedule:
    """Parse a cron text such as `TZ=Europe/Paris 0 8 * * 1-5`; the zone is UTC if none is named.

    Raises ValueError, whose text says what is wrong.
    """
    parts = text.split()
    zone = _UTC
    if parts and parts[0].startswith(_ZONE_MARKS):
        zone = parts.pop(0).partition("=")[2]
    if len(parts) != len(CRON_FIELDS):
        raise ValueError(f"a schedule has five fields, this one {len(parts)}")
    odd: list[str] = []
    found = tuple(_field(field, part, odd) for field, part in zip(CRON_FIELDS, parts, strict=True))
    return CronSchedule(_zone(zone), found, tuple(odd), tuple(part in ("*", "?") for part in parts))


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(f"{name} is no time zone; name one as Europe/Paris") from None


def _field(field: CronField, text: str, odd: list[str]) -> frozenset[int]:
    """Return the numbers that a field allows, and add to `odd` what not every engine accepts; raises ValueError."""
    found: set[int] = set()
    for part in text.split(","):
        span, slash, by = part.partition("/")
        step = _number(by, text, field) if slash else 1
        if step == 0:
            raise ValueError(f"{part!r} steps by nothing: it is no {field.name}")
        first, last = _span(field, span, text, has_step=bool(slash), odd=odd)
        # A range may wrap around, as in `22-2`.
        size = field.high - field.low + 1
        length = last - first if first <= last else last - first + size
        found |= {field.low + (first - field.low + n) % size for n in range(0, length + 1, step)}
    return frozenset(found)


def _span(field: CronField, span: str, text: str, *, has_step: bool, odd: list[str]) -> tuple[int, int]:
    """Return the first and the last value of a range; the last may be smaller, for a range that wraps around."""
    if span in ("*", "?"):
        return field.low, field.high
    begin, dash, end = span.partition("-")
    first = _value(field, begin, text)
    last = _value(field, end, text) if dash else field.high if has_step else first
    if first > last:
        odd.append(f"{span!r} goes backwards: write it as two spans")
    if field.alias is not None and field.alias in (first, last):
        odd.append(f"{field.alias} is no {field.name} to every engine: write {field.low}")
    return first, last


def _value(field: CronField, text: str, whole: str) -> int:
    name = text.lower()
    value = field.low + field.names.index(name) if name in field.names else _number(text, whole, field)
    if not field.low <= value <= (field.high if field.alias is None else field.alias):
        raise ValueError(f"{text} is no {field.name}: there are {field.low} to {field.high}")
    return value


def _number(text: str, whole: str, field: CronField) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 4):
        raise ValueError(f"{whole!r} is no {field.name}")
    return int(text)


_JITTER = re.compile(r"([1-9]\d{0,2})(s|m)")
# A leap day recurs after eight years at the latest.
_LOOK_AHEAD_YEARS = 9
LONGEST_CRON = 200


def wrong_cron(text: str) -> str | None:
    """Return what is wrong with a cron text such as `TZ=Europe/Paris 0 8 * * 1-5`; None if every engine accepts it."""
    if len(text) > LONGEST_CRON:
        return f"a schedule has at most {LONGEST_CRON} characters"
    if "".join(text.split()) != text.replace(" ", ""):
        return "its fields must be separated by spaces"
    try:
        schedule = read_schedule(text)
    except ValueError as error:
        return str(error)
    if schedule.odd:
        return schedule.odd[0]
    try:
        start = datetime(2024, 1, 1, tzinfo=UTC)
        croniter(schedule.fields, start, max_years_between_matches=_LOOK_AHEAD_YEARS).get_next(datetime)
    except (ValueError, KeyError):
        return "it never comes"
    return None


def wrong_jitter(text: str) -> str | None:
    """Return what is wrong with a jitter; engines accept one second to five minutes, written `30s` or `2m`."""
    match = _JITTER.fullmatch(text)
    seconds = int(match[1]) * (60 if match[2] == "m" else 1) if match else 0
    return None if 1 <= seconds <= 300 else f"{text!r} is no jitter from 1s to 5m"
