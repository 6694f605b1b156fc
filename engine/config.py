"""What an engine process is told at start."""

from dataclasses import dataclass
from datetime import timedelta

from engine.signing import check_signing_key

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
