"""Facts of a run as an engine reports it: its steps, when it was queued, and whether the app was reached."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

_ATTEMPT = re.compile(r"Attempt ([0-9]+)")
_NOT_STEPS = {"Finalization", "Run"}
_ULID = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}")
_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_TIME_LENGTH = 10
_UNREACHED = "Unable to reach SDK URL"


@dataclass(frozen=True)
class TraceStep:
    """A step: `id` is the engine's hashed id, `name` the id in the code, `attempts` counts from one.

    While a step is being tried again, `error` is that of its last attempt.
    """

    id: str
    name: str
    attempts: int
    output: Any
    error: Any
    started_at: str | None
    ended_at: str | None


def read_steps(root: Mapping[str, Any]) -> tuple[TraceStep, ...]:
    """Return the steps below a trace's root span, in the order in which they began.

    An engine may report a step as two or three spans: one with its name, one with its attempts (perhaps without a
    name), and one for a later request. Spans with the same step id are joined.
    """
    found: dict[str, TraceStep] = {}
    for span, step_id in _spans(root):
        step = _step(step_id, span)
        known = found.get(step_id)
        found[step_id] = _join_spans(known, step) if known else step
    named = [step for step in found.values() if step.name]
    # A step that has not begun sorts last.
    return tuple(sorted(named, key=lambda step: step.started_at or "~"))


def _spans(span: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], str]]:
    """Yield every span of a step with the step's id; spans of attempts are read with their parent."""
    for child in _children(span):
        if not _ATTEMPT.fullmatch(str(child.get("name"))):
            step_id = child.get("stepId") or next((a["stepId"] for a in _children(child) if a.get("stepId")), None)
            if step_id:
                yield child, str(step_id)
        yield from _spans(child)


def _children(span: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    children = span.get("children")
    return [child for child in children if isinstance(child, dict)] if isinstance(children, list) else []


def _step(step_id: str, span: Mapping[str, Any]) -> TraceStep:
    name = str(span.get("name") or "")
    count = span.get("attempts")
    tries = [child for child in _children(span) if _ATTEMPT.fullmatch(str(child.get("name")))]
    numbers = [int(str(child["name"]).removeprefix("Attempt ")) + 1 for child in tries]
    failed = _failed(span)
    output = unwrap_output(span.get("output"))
    return TraceStep(
        id=step_id,
        name="" if name in _NOT_STEPS or name.startswith("executor.") else name,
        attempts=max([count if isinstance(count, int) else 1, *numbers]),
        output=None if failed else output,
        error=unwrap_error(output) if failed else _last_failure(tries) if not span.get("endedAt") else None,
        started_at=span.get("startedAt"),
        ended_at=span.get("endedAt"),
    )


def _failed(span: Mapping[str, Any]) -> bool:
    return str(span.get("status", "")).upper() == "FAILED"


def _last_failure(tries: list[Mapping[str, Any]]) -> Any:
    """Return the error of the last failed attempt of a step that is being tried again."""
    ended = [child for child in tries if _failed(child)]
    return unwrap_error(unwrap_output(ended[-1].get("output"))) if ended else None


def _join_spans(first: TraceStep, second: TraceStep) -> TraceStep:
    """Join two spans of a step; the one with the name comes first, and a success overrules errors."""
    named, other = (first, second) if first.name else (second, first)
    output = named.output if named.output is not None else other.output
    done = any(step.ended_at and step.error is None and step.name for step in (first, second))
    starts = [step.started_at for step in (first, second) if step.started_at]
    ends = [step.ended_at for step in (first, second) if step.ended_at]
    return replace(
        named,
        attempts=max(first.attempts, second.attempts),
        output=output,
        error=None if done else named.error or other.error,
        started_at=min(starts, default=None),
        ended_at=max(ends, default=None),
    )


def unwrap_output(output: Any) -> Any:
    """Return an output without the `data` wrapper that some endpoints put around scalars and lists."""
    if isinstance(output, dict) and set(output) == {"data"} and not isinstance(output["data"], dict):
        return output["data"]
    return output


def unwrap_error(output: Any) -> Any:
    """Return an error without the `error` wrapper that some endpoints put around it."""
    if isinstance(output, dict):
        return output.get("error") or output
    return output or None


def queue_time(run_id: str) -> datetime | None:
    """Return when a run was queued, from its id; None for an id that is not a ULID."""
    if not _ULID.fullmatch(run_id):
        return None
    milliseconds = 0
    for char in run_id[:_TIME_LENGTH]:
        milliseconds = milliseconds * 32 + _ALPHABET.index(char)
    try:
        return datetime.fromtimestamp(milliseconds / 1000, UTC)
    except (OverflowError, ValueError):
        return None


def was_unreached(error: Any) -> bool:
    """Tell whether an engine's error means that the app could not be reached, in any of the allowed attempts.

    A function can raise an error with the same text, so use this only for runs that the function itself did not end.
    """
    if not isinstance(error, Mapping):
        return False
    texts = (error.get("error"), error.get("message"))
    return any(isinstance(text, str) and text.startswith(_UNREACHED) for text in texts)
