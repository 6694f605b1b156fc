"""Which schedules an engine takes: five fields, and the zone before them."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from croniter import croniter

_ZONE = re.compile(r"^(?:CRON_)?TZ=(\S+)\s+")
_FIELD = re.compile(r"[0-9*/,?-]+")
_MONTHS = re.compile("jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec", re.IGNORECASE)
_DAYS = re.compile("sun|mon|tue|wed|thu|fri|sat", re.IGNORECASE)
_JITTER = re.compile(r"([1-9]\d{0,2})(s|m)")
_FIELDS = ("minute", "hour", "day of the month", "month", "day of the week")
# A leap day comes again after eight years at the latest.
_LOOK_AHEAD_YEARS = 9
LONGEST_CRON = 200


def wrong_cron(text: str) -> str | None:
    """What is wrong with an expression such as `TZ=Europe/Paris 0 8 * * 1-5`; None when an engine takes it."""
    if len(text) > LONGEST_CRON:
        return f"a schedule has at most {LONGEST_CRON} characters"
    match = _ZONE.match(text)
    if match:
        try:
            ZoneInfo(match[1])
        except (ZoneInfoNotFoundError, ValueError, OSError):
            return f"{match[1]} is no time zone; name one as Europe/Paris"
    fields = text[match.end() :].split() if match else text.split()
    if len(fields) != len(_FIELDS):
        return f"a schedule has five fields, this one {len(fields)}"
    for name, field in zip(_FIELDS, fields, strict=True):
        plain = _MONTHS.sub("1", field) if name == "month" else _DAYS.sub("1", field) if "week" in name else field
        if not _FIELD.fullmatch(plain):
            return f"{field!r} is no {name}"
    try:
        start = datetime(2024, 1, 1, tzinfo=UTC)
        croniter(" ".join(fields), start, max_years_between_matches=_LOOK_AHEAD_YEARS).get_next(datetime)
    except (ValueError, KeyError, AttributeError) as error:
        return str(error)
    return None


def wrong_jitter(text: str) -> str | None:
    """The engine takes one second to five minutes, written `30s` or `2m`."""
    match = _JITTER.fullmatch(text)
    seconds = int(match[1]) * (60 if match[2] == "m" else 1) if match else 0
    return None if 1 <= seconds <= 300 else f"{text!r} is no jitter from 1s to 5m"
