"""Cron expressions and their ticks in a time zone."""

import functools
import hashlib
import heapq
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from croniter import croniter

from engine.formats.clock import to_datetime, to_ms

_ZONE = re.compile(r"^(?:CRON_)?TZ=(\S+)\s+")
_LOOK_AHEAD_YEARS = 30
_CHANGE = timedelta(hours=3)
_MONTH, _WEEKDAY = 3, 4
_MONTHS = ("", "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_SPAN_OF_ONE = re.compile(r"(\d+)-(\d+)(?:/\d+)?")


@dataclass(frozen=True)
class Cron:
    """A cron expression with its time zone.

    When clocks change, a schedule whose hour is `*` keeps its pace in absolute time. Any other, `*/6` too, runs once at
    each of its local times: at the first of two equal ones, and at the next existing minute when its time is skipped.
    """

    fields: str
    zone: tzinfo

    def next_after(self, ms: int) -> int:
        """Return the first tick after this time."""
        return next(self.all_after(ms))

    def all_after(self, ms: int) -> Iterator[int]:
        """Return an endless iterator of the ticks after this time, in order."""
        return (to_ms(tick) for tick in self._ticks(to_datetime(ms)))

    def latest(self, since_ms: int, until_ms: int) -> int:
        """Return the last tick in (since, until], or `since_ms` when there is none."""
        found = since_ms
        # Look back in growing steps, to avoid walking through all ticks of a long time without an engine.
        for back in (timedelta(hours=1), timedelta(days=1), timedelta(days=31), timedelta(days=366)):
            start = max(since_ms, until_ms - round(back.total_seconds() * 1000))
            for moment in self._ticks(to_datetime(start)):
                if (tick := to_ms(moment)) > until_ms:
                    break
                found = tick
            if found > since_ms or start == since_ms:
                return found
        return found

    def count(self, since_ms: int, until_ms: int, limit: int) -> int:
        """Count the ticks in (since, until], up to `limit`."""
        counted = itertools.takewhile(lambda tick: to_ms(tick) <= until_ms, self._ticks(to_datetime(since_ms)))
        return sum(1 for _ in itertools.islice(counted, limit))

    def _ticks(self, after: datetime) -> Iterator[datetime]:
        earlier, local, later = ((after + shift).astimezone(self.zone) for shift in (-_CHANGE, timedelta(), _CHANGE))
        # Near a clock change local times repeat or are skipped: begin earlier and drop ticks up to `after`.
        start = local if earlier.utcoffset() == later.utcoffset() else earlier
        walk = croniter(self.fields, start.replace(tzinfo=None))
        waiting: list[datetime] = []
        last = after
        while True:
            instants = self._instants(walk.get_next(datetime))
            for tick in instants:
                heapq.heappush(waiting, tick)
            # In a repeated hour, all first occurrences come before the second ones.
            while instants and waiting and waiting[0] <= instants[0]:
                tick = heapq.heappop(waiting)
                if tick > last:
                    last = tick
                    yield tick

    def _instants(self, local: datetime) -> list[datetime]:
        """Return the moments at which a local time runs: usually one, near a change of clocks also none or two."""
        first = local.replace(tzinfo=self.zone, fold=0).astimezone(UTC)
        second = local.replace(tzinfo=self.zone, fold=1).astimezone(UTC)
        if first.astimezone(self.zone).replace(tzinfo=None) != local:
            return [] if self._every_hour else [self._end_of_gap(local)]
        return sorted({first, second}) if self._every_hour else [first]

    @functools.cached_property
    def _every_hour(self) -> bool:
        return bool(croniter.expand(self.fields)[0][1] == ["*"])

    def _end_of_gap(self, local: datetime) -> datetime:
        """Return the first moment that exists after a local time which a change of clocks skips."""
        while True:
            local += timedelta(minutes=1)
            moment = local.replace(tzinfo=self.zone).astimezone(UTC)
            if moment.astimezone(self.zone).replace(tzinfo=None) == local:
                return moment


@functools.lru_cache(maxsize=1024)
def parse_cron(text: str) -> Cron:
    """Read a five-field expression, optionally after `TZ=Zone` or `CRON_TZ=Zone`; the default is UTC.

    Raises:
        ValueError: it is malformed, or it never comes.
    """
    zone: tzinfo = UTC
    match = _ZONE.match(text)
    fields = text[match.end() :] if match else text
    if match:
        try:
            zone = ZoneInfo(match[1])
        except (ZoneInfoNotFoundError, ValueError, OSError) as error:
            raise ValueError(f"unknown time zone {match[1]} in cron {text!r}") from error
    parts = fields.split()
    if len(parts) != 5:
        raise ValueError(f"cron {text!r} must have five fields")
    fields = " ".join(_rewrite_field(n, part) for n, part in enumerate(parts))
    try:
        croniter(fields, datetime(2024, 1, 1), max_years_between_matches=_LOOK_AHEAD_YEARS).get_next(datetime)  # noqa: DTZ001
    except (ValueError, KeyError, AttributeError) as error:
        raise ValueError(f"cron {text!r} is not valid: {error}") from error
    return Cron(fields, zone)


def _rewrite_field(place: int, field: str) -> str:
    """Rewrite a field for croniter: names as numbers, and `8-8`, which croniter takes for every hour, as `8`."""
    names = {_MONTH: _MONTHS, _WEEKDAY: _WEEKDAYS}.get(place, ())
    numbers = re.sub("[a-z]+", lambda name: str(names.index(name[0])) if name[0] in names else name[0], field.lower())
    return ",".join(_unwrap_range(part) for part in numbers.split(","))


def _unwrap_range(part: str) -> str:
    span = _SPAN_OF_ONE.fullmatch(part)
    return span[1] if span is not None and int(span[1]) == int(span[2]) else part


def jitter_of(function_slug: str, tick_ms: int, jitter_ms: int) -> int:
    """Return how long after its tick a cron with jitter fires: 1 s to `jitter_ms`, always the same for one tick."""
    if jitter_ms <= 1000:
        return 0
    digest = hashlib.sha256(f"{function_slug}:{tick_ms}".encode()).digest()
    return 1000 + int.from_bytes(digest[:8], "big") % (jitter_ms - 1000)
