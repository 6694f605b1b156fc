"""Rehearse a version on one recorded run, with its effects faked, and list what it did otherwise."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sidecar.broker.recordings import Exchange, Recordings
from sidecar.broker.simulation import SimulatedEffect, Simulations
from sidecar.rehearsal.driver import Callee, RehearsedFunction, RehearsedStep, play_run
from skills.book.runs import SkillRun


@dataclass(frozen=True)
class RunRecording:
    """One run: what it was asked, what the broker answered it, what its steps were remembered as, and its output."""

    run_id: str
    function_id: str
    event: Mapping[str, Any]
    exchanges: Sequence[Exchange] = ()
    memos: Mapping[str, Any] | None = None
    output: Any = None


def load_recording(run: SkillRun, recordings: Recordings) -> RunRecording | None:
    """The recording of a run; None when its event was too large to be kept."""
    if run.event.get("cut") is True and "beginning" in run.event:
        return None
    return RunRecording(
        run_id=run.run_id,
        function_id=run.function_id,
        event=run.event,
        exchanges=recordings.read(run.skill_id, run.run_id),
        memos=recordings.memos(run.skill_id, run.run_id),
        output=run.output,
    )


_MOST_DIFFERENCES = 20
_LONGEST_VALUE = 300


def find_differences(
    recording: RunRecording,
    output: Any,
    steps: Iterable[RehearsedStep],
    effects: Iterable[tuple[str, Mapping[str, Any]]],
) -> tuple[str, ...]:
    """In words for an author, at most twenty."""
    found: list[str] = []
    if output != recording.output:
        found.append(f"it returns {_short_json(output)} instead of {_short_json(recording.output)}")
    before = Counter(_effect_text(one.path, one.ask) for one in recording.exchanges if one.has_effect)
    now = Counter(_effect_text(path, ask) for path, ask in effects)
    found += [f"it would now do this: {name}" for name in (now - before).elements()]
    found += [f"it would no longer do this: {name}" for name in (before - now).elements()]
    if recording.memos is not None:
        taken = {step.id: step.name for step in steps}
        found += [f"it takes a new step: {name}" for step, name in taken.items() if step not in recording.memos]
        gone = sum(step not in taken for step in recording.memos)
        found += [f"it leaves out {gone} of the recorded steps"] if gone else []
    return tuple(found[:_MOST_DIFFERENCES])


def _effect_text(path: str, ask: Mapping[str, Any]) -> str:
    # A claim's or a notice's key may be made from the run's id.
    said = {name: value for name, value in ask.items() if name not in ("key", "run_id") and value}
    return f"{path[1:]} {_short_json(said)}"


def _short_json(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
    return text if len(text) <= _LONGEST_VALUE else text[: _LONGEST_VALUE - 1] + "…"


@dataclass(frozen=True)
class Rehearsal:
    """`ok` where the function ended well. `unrecorded` are questions that the recording has no answer to: a function
    that then fails has shown nothing. `reworded` ones were asked otherwise than recorded, and answered as recorded."""

    ok: bool
    output: Any
    error: str | None
    steps: tuple[RehearsedStep, ...]
    effects: tuple[SimulatedEffect, ...]
    refused: tuple[str, ...]
    unrecorded: tuple[str, ...]
    reworded: tuple[str, ...]
    differences: tuple[str, ...]


def rehearse_run(
    part: RehearsedFunction,
    callee: Callee,
    recording: RunRecording,
    pretences: Simulations,
    *,
    reads_for_real: bool = False,
) -> Rehearsal:
    """Play `part` on a process whose broker pretends (an identity of mode `rehearsal`, or `shadow` to read for real).

    `part.run_id` names this rehearsal and must be new.
    """
    pretence = pretences.begin(part.stem, part.run_id, recording.exchanges, reads_for_real=reads_for_real)
    memos: Mapping[str, Any] = recording.memos or {}
    try:
        played = play_run(part, callee, memos, lambda _what, detail: pretence.note_refusal(detail))
    finally:
        pretences.end(part.stem, part.run_id)
    effects = [*pretence.effects, *(SimulatedEffect("/invoke", one) for one in played.invoked)]
    invoked = [("/invoke", one) for one in played.invoked] if recording.memos is None else []
    done = [(one.path, one.ask) for one in pretence.effects] + invoked
    return Rehearsal(
        ok=played.error is None,
        output=played.output,
        error=played.error,
        steps=played.steps,
        effects=tuple(effects),
        refused=tuple(pretence.refused),
        unrecorded=tuple(pretence.unrecorded),
        reworded=tuple(pretence.reworded),
        differences=find_differences(recording, played.output, played.steps, done) if played.error is None else (),
    )
