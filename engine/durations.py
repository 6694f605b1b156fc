"""Durations as Inngest writes them: `30s`, `1h30m`, `7d`."""

import re

_UNITS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d|w)")


def parse_duration(text: str) -> int:
    """Milliseconds.

    Raises:
        ValueError: not a duration.
    """
    total, end = 0.0, 0
    for match in _PART.finditer(text):
        if match.start() != end:
            break
        total += float(match[1]) * _UNITS[match[2]]
        end = match.end()
    if not text or end != len(text):
        raise ValueError(f"{text!r} is not a duration such as 30s, 5m or 1h30m")
    return round(total)
