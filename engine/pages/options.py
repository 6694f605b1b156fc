"""A function's options in words."""

from collections.abc import Iterator

from engine.expressions import Expression
from engine.function import Function, Rate
from engine.pages.words import duration


def options_of(function: Function) -> Iterator[tuple[str, str]]:
    """Names and values, those that are set."""
    yield "Retries", f"{function.retries} ({function.retries + 1} attempts in all)"
    for limit in function.concurrency:
        scope = {"fn": "in this function", "env": "in this engine", "account": "in this engine"}.get(limit.scope, "")
        yield "Concurrency", f"{limit.limit} at a time{_per(limit.key)} {scope}"
    if function.throttle is not None:
        yield "Throttle", f"{_rate(function.throttle)}; more wait"
    if function.rate_limit is not None:
        yield "Rate limit", f"{_rate(function.rate_limit)}; more are dropped"
    if (hold := function.debounce) is not None:
        longest = "" if hold.timeout_ms is None else f", at most {duration(hold.timeout_ms)}"
        yield "Debounce", f"{duration(hold.period_ms)} after the last event{longest}{_per(hold.key)}"
    if (batch := function.batch) is not None:
        only = f", only when {batch.condition.text}" if batch.condition else ""
        yield "Batch", f"up to {batch.max_size} events or {duration(batch.timeout_ms)}{_per(batch.key)}{only}"
    if function.singleton is not None:
        others = "a new run is skipped" if function.singleton.mode == "skip" else "a new run cancels the old one"
        yield "Singleton", f"one run{_per(function.singleton.key)}; {others}"
    if function.idempotency is not None:
        yield "Idempotency", f"once for each {function.idempotency.text}"
    if function.priority is not None:
        yield "Priority", f"{function.priority.text} seconds ahead"
    for cancel in function.cancellations:
        only = f" where {cancel.expression.text}" if cancel.expression else ""
        within = "" if cancel.timeout_ms is None else f", within {duration(cancel.timeout_ms)}"
        yield "Cancelled by", f"{cancel.event}{only}{within}"
    if function.start_timeout_ms is not None:
        yield "Must start within", duration(function.start_timeout_ms)
    if function.finish_timeout_ms is not None:
        yield "Must finish within", duration(function.finish_timeout_ms)


def _per(key: Expression | None) -> str:
    return "" if key is None else f" for each {key.text}"


def _rate(rate: Rate) -> str:
    burst = f" (and {rate.burst} at once)" if rate.burst else ""
    return f"{rate.limit} per {duration(rate.period_ms)}{burst}{_per(rate.key)}"
