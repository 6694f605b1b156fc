"""Rehearse a version on one recorded run, with simulated effects, and list what it did differently."""

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

_MOST_DIFFERENCES = 20
_LONGEST_VALUE = 300


@dataclass(frozen=True)
class RunRecording:
    """A recorded run: its event, the broker's answers, the memos of its steps and its output."""

    run_id: str
    function_id: str
    event: Mapping[str, Any]
    exchanges: Sequence[Exchange] = ()
    memos: Mapping[str, Any] | None = None
    output: Any = None


def load_recording(run: SkillRun, recordings: Recordings) -> RunRecording | None:
    """Load the recording of a run; None when its event was too large to be kept."""
    if run.event.get("cut") is True and "beginning" in run.event:
        return None
    return RunRecording(
        run_id=run.run_id,
        function_id=run.function_id,
        event=run.event,
        exchanges=recordings.read_exchanges(run.skill_id, run.run_id),
        memos=recordings.memos(run.skill_id, run.run_id),
        output=run.output,
    )


def find_differences(
    recording: RunRecording,
    output: Any,
    steps: Iterable[RehearsedStep],
    effects: Iterable[tuple[str, Mapping[str, Any]]],
) -> tuple[str, ...]:
    """Describe for an author what differs, in at most twenty lines."""
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
    # Keys of claims and notices may be made from the run's id.
    kept = {name: value for name, value in ask.items() if name not in ("key", "run_id") and value}
    return f"{path[1:]} {_short_json(kept)}"


def _short_json(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
    return text if len(text) <= _LONGEST_VALUE else text[: _LONGEST_VALUE - 1] + "…"


@dataclass(frozen=True)
class Rehearsal:
    """The result of a rehearsal; `ok` when the function returned.

    `unrecorded` are questions that the recording has no answer to: a function that fails after one has shown nothing.
    `reworded` ones differ from the recorded ones, and were answered like them.
    """

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
    function: RehearsedFunction,
    callee: Callee,
    recording: RunRecording,
    simulations: Simulations,
    *,
    reads_for_real: bool = False,
) -> Rehearsal:
    """Run `function` on a process whose identity has the mode `rehearsal`, or `shadow` with `reads_for_real`.

    `function.run_id` names this rehearsal and must be new.
    """
    simulation = simulations.start(function.stem, function.run_id, recording.exchanges, reads_for_real=reads_for_real)
    memos: Mapping[str, Any] = recording.memos or {}
    try:
        played = play_run(function, callee, memos, lambda _what, detail: simulation.note_refusal(detail))
    finally:
        simulations.end(function.stem, function.run_id)
    effects = [*simulation.effects, *(SimulatedEffect("/invoke", one) for one in played.invoked)]
    invoked = [("/invoke", one) for one in played.invoked] if recording.memos is None else []
    done = [(one.path, one.request) for one in simulation.effects] + invoked
    return Rehearsal(
        ok=played.error is None,
        output=played.output,
        error=played.error,
        steps=played.steps,
        effects=tuple(effects),
        refused=tuple(simulation.refused),
        unrecorded=tuple(simulation.unrecorded),
        reworded=tuple(simulation.reworded),
        differences=find_differences(recording, played.output, played.steps, done) if played.error is None else (),
    )
