"""Settings of an engine: how a process is configured at start, and the limits and timings that its rules use."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from engine.formats.signing import check_signing_key

MIB = 1024 * 1024
DAY_MS = 86_400_000
YEAR_MS = 366 * DAY_MS


def too_large(what: str, size: int, limit: int) -> str:
    """Return the message for something that exceeds a size limit; `size` and `limit` are bytes."""
    return f"{what} has {size} bytes; at most {limit} ({limit / MIB:g} MiB) are allowed"


@dataclass(frozen=True)
class EngineSettings:
    """Limits and timings of execution: sizes in bytes, times in milliseconds (`_ms`) or seconds (`_s`)."""

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
    """How long event ids and idempotency keys are remembered."""


LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


@dataclass(frozen=True)
class EngineConfig:
    """Configuration of an engine process.

    With a signing key, calls to apps and their answers are signed, and API callers must present the key.

    Args:
        port: 0 picks a free port.
        retry_interval: seconds between attempts, in place of Inngest's back-off schedule.
        calls_per_app: the number of requests that may be open to one app at a time.
        retention: how long ended runs and events are kept.
        otlp_endpoint: an OpenTelemetry collector (OTLP over HTTP) that gets a trace of each ended run.

    Raises:
        ValueError: the signing key is malformed, there are event keys but no signing key, an engine without keys would
            listen on another host than loopback, or the retention is not positive.
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
