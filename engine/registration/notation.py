"""Whether a schedule is written as Inngest's own servers take it, so that an app can move from one to another."""

import re
from collections.abc import Iterator

from engine.cron import parse_cron

_ZONE = re.compile(r"(?:CRON_)?TZ=\S+ ")
_PART = re.compile(r"(?:[*?]|(?P<first>\w+)(?:-(?P<last>\w+))?)(?:/[0-9]+)?", re.ASCII)
_NAMES = {
    name: number
    for names in ("jan feb mar apr may jun jul aug sep oct nov dec", "sun mon tue wed thu fri sat")
    for number, name in enumerate(names.split(), "sun" not in names)
}
_LAST_DAY = 6


def check_cron(text: str) -> None:
    """Raises ValueError with the reason: what `parse_cron` raises, and what only this engine could read."""
    parse_cron(text)
    zone = _ZONE.match(text)
    if "=" in text and zone is None:
        raise ValueError(f"cron {text!r} must have a blank after its time zone")
    fields = text[zone.end() if zone else 0 :].split()
    for number, field in enumerate(fields):
        for part in field.split(","):
            for wrong in _wrong(part, day_of_week=number == len(fields) - 1):
                raise ValueError(f"cron {text!r} is not valid: {part} {wrong}")


def _wrong(part: str, *, day_of_week: bool) -> Iterator[str]:
    match = _PART.fullmatch(part)
    if match is None:
        yield "is neither a number nor a range"
        return
    first, last = (_number(match[end]) for end in ("first", "last"))
    if any(match[end] and _number(match[end]) is None for end in ("first", "last")):
        yield "is neither a number nor a range"
    elif day_of_week and max(first or 0, last or 0) > _LAST_DAY:
        yield "is past Saturday, which is 6; Sunday is 0"
    elif first is not None and last is not None and first > last:
        yield "ends before it begins"


def _number(text: str | None) -> int | None:
    return None if text is None else int(text) if text.isdigit() else _NAMES.get(text.lower())
