"""One rehearsal: a version plays a recorded run again, its effects faked and listed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sidecar.broker.pretending import Effect, Pretences
from sidecar.rehearsal.comparing import differences
from sidecar.rehearsal.driving import Callee, Part, Step, play
from sidecar.rehearsal.recording import Recording


@dataclass(frozen=True)
class Rehearsal:
    """`ok` where the function ended well. `unrecorded` are questions that the recording has no answer to: a function
    that then fails has shown nothing. `reworded` ones were asked otherwise than recorded, and answered as recorded."""

    ok: bool
    output: Any
    error: str | None
    steps: tuple[Step, ...]
    effects: tuple[Effect, ...]
    refused: tuple[str, ...]
    unrecorded: tuple[str, ...]
    reworded: tuple[str, ...]
    differences: tuple[str, ...]


def rehearse(
    part: Part, callee: Callee, recording: Recording, pretences: Pretences, *, reads_for_real: bool = False
) -> Rehearsal:
    """Play `part` on a process whose broker pretends (an identity of mode `rehearsal`, or `shadow` to read for real).

    `part.run_id` names this rehearsal and must be new.
    """
    pretence = pretences.begin(part.stem, part.run_id, recording.exchanges, reads_for_real=reads_for_real)
    memos: Mapping[str, Any] = recording.memos or {}
    try:
        played = play(part, callee, memos, lambda _what, detail: pretence.note_refusal(detail))
    finally:
        pretences.end(part.stem, part.run_id)
    effects = [*pretence.effects, *(Effect("/invoke", one) for one in played.invoked)]
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
        differences=differences(recording, played.output, played.steps, done) if played.error is None else (),
    )
