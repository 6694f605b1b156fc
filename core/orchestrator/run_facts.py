"""Read what an engine tells of a run: its steps, when it was queued, and whether anybody answered."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

_ATTEMPT = re.compile(r"Attempt ([0-9]+)")
_NO_STEPS = {"Finalization", "Run"}


@dataclass(frozen=True)
class TraceStep:
    """One step: `id` is the engine's (hashed) id, `name` the one in the code, `attempts` counts from one.

    While a step is tried again, `error` is what its last attempt said.
    """

    id: str
    name: str
    attempts: int
    output: Any
    error: Any
    started_at: str | None
    ended_at: str | None


def read_steps(root: Mapping[str, Any]) -> tuple[TraceStep, ...]:
    """The steps below a trace's root span, in the order they began.

    An engine may tell one step in two or three spans: one named for the step, one that holds the attempts
    (which may carry no name of its own), one for a later request. They are one step by its id.
    """
    found: dict[str, TraceStep] = {}
    for span, step_id in _spans(root):
        step = _step(step_id, span)
        known = found.get(step_id)
        found[step_id] = _joined(known, step) if known else step
    named = [step for step in found.values() if step.name]
    return tuple(sorted(named, key=lambda step: step.started_at or "~"))


def _spans(span: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], str]]:
    """Every span that tells of a step, with the step's id; attempts are read with the span that holds them."""
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
    told = span.get("attempts")
    tries = [child for child in _children(span) if _ATTEMPT.fullmatch(str(child.get("name")))]
    seen = [int(str(child["name"]).removeprefix("Attempt ")) + 1 for child in tries]
    failed = _failed(span)
    output = unwrap_output(span.get("output"))
    return TraceStep(
        id=step_id,
        name="" if name in _NO_STEPS or name.startswith("executor.") else name,
        attempts=max([told if isinstance(told, int) else 1, *seen]),
        output=None if failed else output,
        error=unwrap_error(output) if failed else _why_again(tries) if not span.get("endedAt") else None,
        started_at=span.get("startedAt"),
        ended_at=span.get("endedAt"),
    )


def _failed(span: Mapping[str, Any]) -> bool:
    return str(span.get("status", "")).upper() == "FAILED"


def _why_again(tries: list[Mapping[str, Any]]) -> Any:
    """Why a step that goes on was tried again: what its last failed attempt said."""
    ended = [child for child in tries if _failed(child)]
    return unwrap_error(unwrap_output(ended[-1].get("output"))) if ended else None


def _joined(first: TraceStep, second: TraceStep) -> TraceStep:
    """What both spans tell; the one with the name leads, and a success is the last word on a step."""
    leads, other = (first, second) if first.name else (second, first)
    output = leads.output if leads.output is not None else other.output
    done = any(step.ended_at and step.error is None and step.name for step in (first, second))
    starts = [step.started_at for step in (first, second) if step.started_at]
    ends = [step.ended_at for step in (first, second) if step.ended_at]
    return replace(
        leads,
        attempts=max(first.attempts, second.attempts),
        output=output,
        error=None if done else leads.error or other.error,
        started_at=min(starts, default=None),
        ended_at=max(ends, default=None),
    )


def unwrap_output(output: Any) -> Any:
    """Scalars and lists come wrapped from some addresses and bare from others; objects come as they are."""
    if isinstance(output, dict) and set(output) == {"data"} and not isinstance(output["data"], dict):
        return output["data"]
    return output


def unwrap_error(output: Any) -> Any:
    """An error comes wrapped from some addresses and bare from others."""
    if isinstance(output, dict):
        return output.get("error") or output
    return output or None


_ULID = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}")
_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_TIME = 10


def queue_time(run_id: str) -> datetime | None:
    """When the run was queued; None for an id in another form."""
    if not _ULID.fullmatch(run_id):
        return None
    milliseconds = 0
    for char in run_id[:_TIME]:
        milliseconds = milliseconds * 32 + _ALPHABET.index(char)
    try:
        return datetime.fromtimestamp(milliseconds / 1000, UTC)
    except (OverflowError, ValueError):
        return None


_BEGINNING = "Unable to reach SDK URL"


def was_unreached(error: Any) -> bool:
    """Of an error that the engine tells; a function that answers can say the same, so ask only of runs it did not end.

    An engine gives up so after as many attempts as the function is allowed.
    """
    if not isinstance(error, Mapping):
        return False
    said = (error.get("error"), error.get("message"))
    return any(isinstance(text, str) and text.startswith(_BEGINNING) for text in said)
