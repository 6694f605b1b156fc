"""Which schedules every engine takes: five fields, and the zone before them."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from croniter import croniter

from skills.schedule import read_schedule

_JITTER = re.compile(r"([1-9]\d{0,2})(s|m)")
# A leap day comes again after eight years at the latest.
_LOOK_AHEAD_YEARS = 9
LONGEST_CRON = 200


def wrong_cron(text: str) -> str | None:
    """What is wrong with an expression such as `TZ=Europe/Paris 0 8 * * 1-5`; None when an engine takes it."""
    if len(text) > LONGEST_CRON:
        return f"a schedule has at most {LONGEST_CRON} characters"
    if "".join(text.split()) != text.replace(" ", ""):
        return "there is another sign than a space between its fields"
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
    """The engine takes one second to five minutes, written `30s` or `2m`."""
    match = _JITTER.fullmatch(text)
    seconds = int(match[1]) * (60 if match[2] == "m" else 1) if match else 0
    return None if 1 <= seconds <= 300 else f"{text!r} is no jitter from 1s to 5m"
