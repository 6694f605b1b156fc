"""A registered function with its options, read from the configuration that its app sent."""

import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import parse_qsl, quote_plus, urlencode, urlsplit, urlunsplit

from engine.expressions import Expression, compile_expression
from engine.formats.clock import parse_duration

DEFAULT_RETRIES = 4
MAX_RETRIES = 20


@dataclass(frozen=True)
class EventTrigger:
    """Starts a run for each event of this name whose `expression` is true; a name may end in `*` for any rest."""

    name: str
    expression: Expression | None


@dataclass(frozen=True)
class CronTrigger:
    """Starts a run at each tick of the cron expression `text`, up to `jitter_ms` later."""

    text: str
    jitter_ms: int


@dataclass(frozen=True)
class ConcurrencyLimit:
    """Allows `limit` executing steps per value of `key`, within the function (scope `fn`) or across the engine."""

    limit: int
    key: Expression | None
    scope: str


@dataclass(frozen=True)
class Cancellation:
    """Cancels a run when this event arrives within `timeout_ms` of its start; None means at any time."""

    event: str
    expression: Expression | None
    timeout_ms: int | None


@dataclass(frozen=True)
class DebounceRule:
    """Starts a run with the last event after `period_ms` without one, or `timeout_ms` after the first at the latest."""

    period_ms: int
    timeout_ms: int | None
    key: Expression | None


@dataclass(frozen=True)
class BatchRule:
    """Starts one run for `max_size` events, or for fewer after `timeout_ms`.

    Events for which `condition` is false start a run by themselves.
    """

    max_size: int
    timeout_ms: int
    key: Expression | None
    condition: Expression | None


@dataclass(frozen=True)
class RateRule:
    """Allows `limit` runs per `period_ms`, and `burst` more in a row."""

    limit: int
    period_ms: int
    burst: int
    key: Expression | None


@dataclass(frozen=True)
class SingletonRule:
    """Allows one run at a time per value of `key`: a new run is skipped (`skip`) or replaces the old one (`cancel`)."""

    mode: str
    key: Expression | None


@dataclass(frozen=True)
class Function:
    """A registered function; `slug` (`<app>-<fn>`) is its id in the protocol, `id` the engine's UUID for it."""

    id: str
    slug: str
    app: str
    name: str
    version: int
    archived: bool
    url: str
    retries: int
    event_triggers: tuple[EventTrigger, ...]
    cron_triggers: tuple[CronTrigger, ...]
    concurrency: tuple[ConcurrencyLimit, ...]
    cancellations: tuple[Cancellation, ...]
    debounce: DebounceRule | None
    batch: BatchRule | None
    rate_limit: RateRule | None
    throttle: RateRule | None
    singleton: SingletonRule | None
    idempotency: Expression | None
    priority: Expression | None
    start_timeout_ms: int | None
    finish_timeout_ms: int | None

    @property
    def public_id(self) -> str:
        """Return the id without the app's name, as `/v2` shows it."""
        return self.slug.removeprefix(f"{self.app}-")

    def call_url(self, step_id: str) -> str:
        """Return the address to call for a step, by its hashed id; `step` asks the function for its next steps."""
        return f"{self._url_without_step}{quote_plus(step_id)}"

    @cached_property
    def _url_without_step(self) -> str:
        parts = urlsplit(self.url)
        query = {**dict(parse_qsl(parts.query, keep_blank_values=True)), "fnId": self.slug}
        query.pop("stepId", None)
        return urlunsplit(parts._replace(query=f"{urlencode(query)}&stepId=", fragment=""))


def read_function(app: str, config: dict[str, Any], *, id: str, version: int, archived: bool) -> Function:
    """Build a function from its configuration, which `registration.checks` has accepted."""
    step = next(iter(config["steps"].values()))
    timeouts = config.get("timeouts") or {}
    triggers = config["triggers"]
    return Function(
        id=id,
        slug=config["id"],
        app=app,
        name=config.get("name") or config["id"],
        version=version,
        archived=archived,
        url=step["runtime"]["url"],
        retries=min((step.get("retries") or {}).get("attempts", DEFAULT_RETRIES), MAX_RETRIES),
        event_triggers=tuple(
            EventTrigger(t["event"], _expression(t.get("expression"))) for t in triggers if t.get("event")
        ),
        cron_triggers=tuple(CronTrigger(t["cron"], _duration(t.get("jitter")) or 0) for t in triggers if t.get("cron")),
        concurrency=tuple(_concurrency(c) for c in concurrency_entries(config)),
        cancellations=tuple(
            Cancellation(c["event"], _expression(c.get("if")), _duration(c.get("timeout")))
            for c in config.get("cancel") or ()
        ),
        debounce=_debounce(config.get("debounce")),
        batch=_batch(config.get("batchEvents")),
        rate_limit=_rate(config.get("rateLimit"), burst_of_limit=True),
        throttle=_rate(config.get("throttle"), burst_of_limit=False),
        singleton=SingletonRule(s["mode"], _expression(s.get("key"))) if (s := config.get("singleton")) else None,
        idempotency=_expression(config.get("idempotency")),
        priority=_expression((config.get("priority") or {}).get("run")),
        start_timeout_ms=_duration(timeouts.get("start")),
        finish_timeout_ms=_duration(timeouts.get("finish")),
    )


def load_function(app: str, text: str, *, id: str, version: int, archived: bool) -> Function:
    """Build a function from its stored configuration, JSON text."""
    return read_function(app, json.loads(text), id=id, version=version, archived=archived)


def concurrency_entries(config: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the concurrency option as a list; Inngest also accepts a bare number or one object."""
    option = config.get("concurrency")
    if not option:
        return []
    if isinstance(option, int):
        return [{"limit": option}]
    return [option] if isinstance(option, dict) else list(option)


def _expression(text: str | None) -> Expression | None:
    return compile_expression(text) if text else None


def _duration(text: str | None) -> int | None:
    return parse_duration(text) if text else None


def _concurrency(option: dict[str, Any]) -> ConcurrencyLimit:
    return ConcurrencyLimit(option["limit"], _expression(option.get("key")), option.get("scope") or "fn")


def _debounce(option: dict[str, Any] | None) -> DebounceRule | None:
    if not option:
        return None
    return DebounceRule(
        parse_duration(option["period"]), _duration(option.get("timeout")), _expression(option.get("key"))
    )


def _batch(option: dict[str, Any] | None) -> BatchRule | None:
    if not option:
        return None
    condition = _expression(option.get("if"))
    return BatchRule(option["maxSize"], parse_duration(option["timeout"]), _expression(option.get("key")), condition)


def _rate(option: dict[str, Any] | None, *, burst_of_limit: bool) -> RateRule | None:
    if not option:
        return None
    burst = option["limit"] // 10 if burst_of_limit else option.get("burst") or 0
    return RateRule(option["limit"], parse_duration(option["period"]), burst, _expression(option.get("key")))
