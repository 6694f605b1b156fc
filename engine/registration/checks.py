"""Checks of a function's configuration: every reason to refuse its registration."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from engine.expressions import ExpressionError, compile_expression
from engine.formats.clock import parse_duration
from engine.formats.cron import parse_cron
from engine.formats.json_text import clean_text
from engine.function import concurrency_entries
from engine.settings import DAY_MS, YEAR_MS

_CRON_ZONE = re.compile(r"(?:CRON_)?TZ=\S+ ")
_CRON_PART = re.compile(r"(?:[*?]|(?P<first>\w+)(?:-(?P<last>\w+))?)(?:/[0-9]+)?", re.ASCII)
_CRON_NAMES = {
    name: number
    for names in ("jan feb mar apr may jun jul aug sep oct nov dec", "sun mon tue wed thu fri sat")
    for number, name in enumerate(names.split(), "sun" not in names)
}
_SATURDAY = 6
_MAX_TRIGGERS, _MAX_CANCELS, _MAX_CONCURRENCY = 10, 5, 2
_CANCEL_ONLY_COMPARES = "a cancel expression may only compare; it uses"


def find_problems(config: Any) -> list[str]:
    """Return everything that is wrong with a function's configuration; empty when it can be registered."""
    if not isinstance(config, dict) or not isinstance(config.get("id"), str) or not config["id"]:
        return ["it has no id"]
    if clean_text(config["id"]) != config["id"]:
        return ["its id holds characters that cannot be stored"]
    try:
        return [*_check_triggers(config), *_check_steps(config), *_check_flow_control(config), *_check_cancels(config)]
    except (TypeError, AttributeError, KeyError) as error:
        return [f"its configuration has a field of the wrong kind: {error}"]


def _check_triggers(config: dict[str, Any]) -> Iterator[str]:
    triggers = config.get("triggers") or []
    if not triggers:
        yield "it has no trigger"
    if len(triggers) > _MAX_TRIGGERS:
        yield f"it has {len(triggers)} triggers; at most {_MAX_TRIGGERS} are allowed"
    distinct = {(t.get("event"), t.get("expression"), t.get("cron")) for t in triggers}
    if len(distinct) != len(triggers):
        yield "two of its triggers are the same"
    for trigger in triggers:
        if trigger.get("cron"):
            yield from _catch_reason(check_cron, trigger["cron"])
            if trigger.get("jitter"):
                yield from _check_duration("cron jitter", trigger["jitter"], 1000, 300_000)
        elif not trigger.get("event"):
            yield "a trigger has neither event nor cron"
        yield from _check_expression("trigger expression", trigger.get("expression"))


def _check_steps(config: dict[str, Any]) -> Iterator[str]:
    steps = config.get("steps") or {}
    if len(steps) != 1:
        yield f"it has {len(steps)} steps in its configuration; there must be one"
        return
    step = next(iter(steps.values()))
    parts = urlsplit((step.get("runtime") or {}).get("url") or "")
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        yield "its URL is not an http or https address"
    retries = (step.get("retries") or {}).get("attempts", 0)
    if not isinstance(retries, int) or retries < 0:
        yield "its retries must be a whole number from 0"


def _check_flow_control(config: dict[str, Any]) -> Iterator[str]:
    yield from _check_concurrency(config)
    if option := config.get("debounce"):
        yield from _check_duration("debounce period", option.get("period"), 1000, 7 * DAY_MS)
        yield from _check_optional_duration("debounce timeout", option.get("timeout"))
        yield from _check_expression("debounce key", option.get("key"))
    if option := config.get("rateLimit"):
        yield from _check_count("rate limit", option.get("limit"))
        yield from _check_duration("rate limit period", option.get("period"), 1000, DAY_MS)
        yield from _check_expression("rate limit key", option.get("key"))
    if option := config.get("throttle"):
        yield from _check_count("throttle limit", option.get("limit"))
        yield from _check_duration("throttle period", option.get("period"), 1000, 7 * DAY_MS)
        yield from _check_expression("throttle key", option.get("key"))
    if option := config.get("singleton"):
        if option.get("mode") not in {"skip", "cancel"}:
            yield "its singleton mode must be skip or cancel"
        yield from _check_expression("singleton key", option.get("key"))
    if option := config.get("batchEvents"):
        yield from _check_batch(config, option)
    yield from _check_expression("idempotency", config.get("idempotency"))
    yield from _check_expression("priority", (config.get("priority") or {}).get("run"))
    for name in ("start", "finish"):
        yield from _check_optional_duration(f"{name} timeout", (config.get("timeouts") or {}).get(name))


def _check_concurrency(config: dict[str, Any]) -> Iterator[str]:
    entries = concurrency_entries(config)
    if len(entries) > _MAX_CONCURRENCY:
        yield f"it has {len(entries)} concurrency limits; at most {_MAX_CONCURRENCY} are allowed"
    for entry in entries:
        scope = entry.get("scope") or "fn"
        if scope not in {"fn", "env", "account"}:
            yield f"its concurrency scope {scope} is not fn, env or account"
        elif scope != "fn" and not entry.get("key"):
            yield f"its concurrency limit of scope {scope} needs a key"
        if not isinstance(entry.get("limit"), int) or entry["limit"] < 0:
            yield "its concurrency limit must be a whole number"
        yield from _check_expression("concurrency key", entry.get("key"))


def _check_batch(config: dict[str, Any], option: dict[str, Any]) -> Iterator[str]:
    if not isinstance(option.get("maxSize"), int) or option["maxSize"] < 2:
        yield "its batch must hold at least 2 events"
    if option.get("timeout"):
        yield from _check_duration("batch timeout", option["timeout"], 1000, 7 * DAY_MS)
    else:
        yield "its batch needs a timeout"
    yield from _check_expression("batch key", option.get("key"))
    yield from _check_expression("batch if", option.get("if"))
    for other in ("cancel", "debounce", "singleton", "priority"):
        if config.get(other):
            yield f"batching cannot be combined with {other}"


def _check_cancels(config: dict[str, Any]) -> Iterator[str]:
    cancels = config.get("cancel") or []
    if len(cancels) > _MAX_CANCELS:
        yield f"it has {len(cancels)} cancel events; at most {_MAX_CANCELS} are allowed"
    for cancel in cancels:
        if not cancel.get("event"):
            yield "a cancel has no event"
        yield from _check_optional_duration("cancel timeout", cancel.get("timeout"))
        found = list(_check_expression("cancel expression", cancel.get("if")))
        yield from found
        if cancel.get("if") and not found and (uses := compile_expression(cancel["if"]).uses):
            yield f"{_CANCEL_ONLY_COMPARES} {', '.join(sorted(uses))}"


def _check_expression(what: str, text: str | None) -> Iterator[str]:
    if text:
        try:
            compile_expression(text)
        except ExpressionError as error:
            yield f"its {what} is wrong: {error}"


def _catch_reason(check: Any, value: str) -> Iterator[str]:
    try:
        check(value)
    except ValueError as error:
        yield str(error)


def _check_optional_duration(what: str, text: str | None) -> Iterator[str]:
    if text:
        yield from _check_duration(what, text, 1000, YEAR_MS)


def _check_duration(what: str, text: str | None, least_ms: int, most_ms: int) -> Iterator[str]:
    try:
        found = parse_duration(text or "")
    except ValueError as error:
        yield f"its {what} is wrong: {error}"
        return
    if not least_ms <= found <= most_ms:
        yield f"its {what} of {text} is not between {least_ms // 1000} and {most_ms // 1000} seconds"


def _check_count(what: str, value: Any) -> Iterator[str]:
    if not isinstance(value, int) or value < 1:
        yield f"its {what} must be a whole number from 1"


def check_cron(text: str) -> None:
    """Raise ValueError for a malformed cron expression, or for one that only this engine could read."""
    parse_cron(text)
    zone = _CRON_ZONE.match(text)
    if "=" in text and zone is None:
        raise ValueError(f"cron {text!r} must have a blank after its time zone")
    fields = text[zone.end() if zone else 0 :].split()
    for number, field in enumerate(fields):
        for part in field.split(","):
            for problem in _check_cron_part(part, day_of_week=number == len(fields) - 1):
                raise ValueError(f"cron {text!r} is not valid: {part} {problem}")


def _check_cron_part(part: str, *, day_of_week: bool) -> Iterator[str]:
    match = _CRON_PART.fullmatch(part)
    if match is None:
        yield "is neither a number nor a range"
        return
    first, last = (_cron_number(match[end]) for end in ("first", "last"))
    if any(match[end] and _cron_number(match[end]) is None for end in ("first", "last")):
        yield "is neither a number nor a range"
    elif day_of_week and max(first or 0, last or 0) > _SATURDAY:
        yield "is past Saturday, which is 6; Sunday is 0"
    elif first is not None and last is not None and first > last:
        yield "ends before it begins"


def _cron_number(text: str | None) -> int | None:
    return None if text is None else int(text) if text.isdigit() else _CRON_NAMES.get(text.lower())
