"""Limits and timings of one engine."""

from dataclasses import dataclass

MIB = 1024 * 1024
DAY_MS = 86_400_000
YEAR_MS = 366 * DAY_MS


def too_large(what: str, size: int, most: int) -> str:
    """The one wording of a limit that was passed."""
    return f"{what} has {size} bytes; at most {most} ({most / MIB:g} MiB) are allowed"


@dataclass(frozen=True)
class Settings:
    """What the rules of execution need to know; sizes in bytes, times in milliseconds or, where named so, seconds."""

    retry_interval_s: float | None = None
    call_timeout_s: float = 7200
    calls_per_app: int = 200
    lease_ms: int = 15_000
    retention_ms: int = 30 * DAY_MS
    max_event: int = 3 * MIB
    max_events: int = 5000
    max_step_output: int = 4 * MIB
    max_state: int = 32 * MIB
    max_inline: int = 4 * MIB
    max_steps: int = 1000
    seen_ms: int = DAY_MS
