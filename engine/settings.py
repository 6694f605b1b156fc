"""Settings of an engine: how a process is configured at start, and the limits and timings that its rules use."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from engine.formats.signing import check_signing_key

MIB = 1024 * 1024
DAY_MS = 86_400_000
YEAR_MS = 366 * DAY_MS


def too_large(what: str, size: int, most: int) -> str:
    """The one wording of a limit that was passed."""
    return f"{what} has {size} bytes; at most {most} ({most / MIB:g} MiB) are allowed"


@dataclass(frozen=True)
class EngineSettings:
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


LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


@dataclass(frozen=True)
class EngineConfig:
    """`port` 0 picks a free one. With a signing key every call is signed both ways and API callers must show it.

    Args:
        retry_interval: seconds between attempts, in place of Inngest's back-off schedule.
        calls_per_app: how many requests may be open to one app at a time.
        retention: how long ended runs and events are remembered.
        otlp_endpoint: an OpenTelemetry collector (OTLP over HTTP) that gets a trace of each ended run.

    Raises:
        ValueError: the signing key is not one, event keys without a signing key, a keyless engine off loopback, or no
            time at all to remember.
    """

    database_url: str
    host: str = "127.0.0.1"
    port: int = 8288
    signing_key: str | None = None
    signing_key_fallback: str | None = None
    event_keys: tuple[str, ...] = ()
    retry_interval: float | None = None
    call_timeout: timedelta = timedelta(hours=2)
    calls_per_app: int = 200
    lease: timedelta = timedelta(seconds=15)
    retention: timedelta = timedelta(days=30)
    test_clock: bool = False
    otlp_endpoint: str | None = None

    def __post_init__(self) -> None:
        for key in self.signing_keys:
            check_signing_key(key)
        if not self.signing_keys and self.event_keys:
            raise ValueError("event keys need a signing key too")
        if not self.signing_keys and self.host not in LOOPBACK:
            raise ValueError(f"an engine without keys listens on loopback only, not on {self.host}; give it keys")
        if self.retention <= timedelta():
            raise ValueError("the retention must be longer than nothing")

    @property
    def signing_keys(self) -> tuple[str, ...]:
        return tuple(key for key in (self.signing_key, self.signing_key_fallback) if key)
