"""What a rehearsed run did otherwise than the recorded one. Pure."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from sidecar.rehearsal.driving import Step
from sidecar.rehearsal.recording import Recording

_MOST = 20
_LONGEST = 300


def differences(
    recording: Recording, output: Any, steps: Iterable[Step], effects: Iterable[tuple[str, Mapping[str, Any]]]
) -> tuple[str, ...]:
    """In words for an author, at most twenty."""
    found: list[str] = []
    if output != recording.output:
        found.append(f"it returns {_short(output)} instead of {_short(recording.output)}")
    before = Counter(_named(one.path, one.ask) for one in recording.exchanges if one.has_effect)
    now = Counter(_named(path, ask) for path, ask in effects)
    found += [f"it would now do this: {name}" for name in (now - before).elements()]
    found += [f"it would no longer do this: {name}" for name in (before - now).elements()]
    if recording.memos is not None:
        taken = {step.id: step.name for step in steps}
        found += [f"it takes a new step: {name}" for step, name in taken.items() if step not in recording.memos]
        gone = sum(step not in taken for step in recording.memos)
        found += [f"it leaves out {gone} of the recorded steps"] if gone else []
    return tuple(found[:_MOST])


def _named(path: str, ask: Mapping[str, Any]) -> str:
    # A claim's or a notice's key may be made from the run's id.
    said = {name: value for name, value in ask.items() if name not in ("key", "run_id") and value}
    return f"{path[1:]} {_short(said)}"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
