"""Decide how far a version may go, from stored facts alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

LifecycleMove = Literal["hold", "ask", "dry_run", "shadow", "canary", "activate", "refuse"]
"""`hold` until something else happens: a skill is turned on, a card answered, a rehearsal or a run ended."""
FailureAftermath = Literal["go_on", "restore", "quarantine"]


@dataclass(frozen=True)
class Trial:
    """A rehearsal of a version: of recorded runs (dry run), or of those that happen meanwhile (shadow).

    `failed` says how, and is empty where it went well; `differences` to what really happened are no failure. Of the
    `runs`, `silent` ones showed nothing: they could not be played, or failed for want of an answer or at a limit.
    """

    runs: int = 0
    failed: str = ""
    differences: tuple[str, ...] = ()
    silent: int = 0


@dataclass(frozen=True)
class VersionFacts:
    """What is known of a version that passed the checks.

    `missing` are permissions that nobody granted; `must_ask`: this change needs a person's word in any case, and has
    not got it. `unanswerable`: the card that asked can be answered no more. `has_history`: a run of the skill has
    ended. `serves`: another version does meanwhile. `can_be_tried`: it has a function that serves. `completed` and
    `failed` count its canary runs.
    """

    author: str
    stage: str
    enabled: bool
    missing: tuple[str, ...] = ()
    must_ask: bool = False
    unanswerable: bool = False
    has_history: bool = False
    serves: bool = True
    can_be_tried: bool = True
    dry_run: Trial | None = None
    shadow: Trial = Trial()
    shadow_runs: int = 1
    completed: int = 0
    failed: int = 0
    canary_runs: int = 3


def next_move(facts: VersionFacts) -> LifecycleMove:
    """What happens to the version now."""
    if not facts.enabled:
        return "hold"
    if facts.missing or facts.must_ask:
        return "hold" if facts.stage == "waiting" and not facts.unanswerable else "ask"
    if facts.author != "agent" or not facts.has_history or not facts.can_be_tried:
        return "activate"
    if facts.dry_run is None:
        return "dry_run"
    if facts.dry_run.failed or facts.shadow.failed or facts.failed:
        return "refuse"
    if not facts.serves:
        # Nothing runs beside which it could be tried, or on which its failures would fall back.
        return "activate"
    if facts.shadow.runs < facts.shadow_runs:
        return "hold" if facts.stage == "shadow" else "shadow"
    if facts.completed < facts.canary_runs:
        return "hold" if facts.stage == "canary" else "canary"
    return "activate"


def why_refused(facts: VersionFacts) -> str:
    """Why `next_move` said `refuse`."""
    if facts.dry_run is not None and facts.dry_run.failed:
        return f"the dry run on recorded runs failed: {facts.dry_run.failed}"
    if facts.shadow.failed:
        return f"beside the version that serves it failed: {facts.shadow.failed}"
    return f"{facts.failed} of its first runs failed"


def begins_on_candidate(stage: str, begun: int, canary_runs: int) -> bool:
    """Whether the next run is one of a candidate's first ones; `begun` are those that run or completed."""
    return stage == "canary" and begun < canary_runs


def after_failure(in_a_row: int, most: int, *, restored: bool, has_previous: bool) -> FailureAftermath:
    """What follows when `in_a_row` runs of one function have failed on the version that serves.

    `restored`: it serves because its successor was quarantined, and the one before it is not tried as well.
    """
    if in_a_row < most:
        return "go_on"
    return "restore" if has_previous and not restored else "quarantine"


def is_stale_base(base_id: str | None, *, serving_id: str | None, candidate_id: str | None, same_author: bool) -> bool:
    """Whether an agent's change is based on something else than what serves, so that another change won.

    A change of a candidate may be based on that one, or come again from the author of the candidate.
    """
    if candidate_id is not None and base_id == candidate_id:
        return False
    if base_id != serving_id:
        return serving_id is not None
    return candidate_id is not None and not same_author
