"""Decide the next stage of a version from stored facts alone: no clock, no I/O."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

LifecycleMove = Literal["hold", "ask", "dry_run", "shadow", "canary", "activate", "refuse"]
"""`hold`: wait until a skill is enabled, a card is answered, or a rehearsal or run ends."""
FailureAftermath = Literal["go_on", "restore", "quarantine"]


@dataclass(frozen=True)
class Trial:
    """Result of rehearsing a version, on recorded runs (dry run) or on runs as they happen (shadow).

    `failed` describes the failure, empty if there is none; `differences` from what really happened are not failures.
    `silent` of the `runs` prove nothing: they could not be replayed, or failed for lack of an answer or at a limit.
    """

    runs: int = 0
    failed: str = ""
    differences: tuple[str, ...] = ()
    silent: int = 0


@dataclass(frozen=True)
class VersionFacts:
    """Stored facts about a version that passed the checks.

    `missing`: permissions not granted.
    `must_ask`: a person must approve this change and has not.
    `unanswerable`: the card that asked is closed.
    `has_history`: a run of the skill has ended.
    `serves`: another version serves in the meantime.
    `can_be_tried`: it shares a function with the version that serves.
    `completed`, `failed`: counts of its canary runs.
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
    """Return the next move of a version."""
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
        # There is no serving version to compare it with, or to fall back to.
        return "activate"
    if facts.shadow.runs < facts.shadow_runs:
        return "hold" if facts.stage == "shadow" else "shadow"
    if facts.completed < facts.canary_runs:
        return "hold" if facts.stage == "canary" else "canary"
    return "activate"


def why_refused(facts: VersionFacts) -> str:
    """Return why `next_move` decided `refuse`, as text for the author."""
    if facts.dry_run is not None and facts.dry_run.failed:
        return f"the dry run on recorded runs failed: {facts.dry_run.failed}"
    if facts.shadow.failed:
        return f"beside the version that serves it failed: {facts.shadow.failed}"
    return f"{facts.failed} of its first runs failed"


def begins_on_candidate(stage: str, begun: int, canary_runs: int) -> bool:
    """Return whether the next run uses the candidate; `begun` counts its canary runs that run or completed."""
    return stage == "canary" and begun < canary_runs


def after_failure(in_a_row: int, most: int, *, restored: bool, has_previous: bool) -> FailureAftermath:
    """Decide what follows when `in_a_row` runs of one function have failed on the version that serves.

    `restored`: it serves because its successor was quarantined; then no still older version is restored.
    """
    if in_a_row < most:
        return "go_on"
    return "restore" if has_previous and not restored else "quarantine"


def is_stale_base(base_id: str | None, *, serving_id: str | None, candidate_id: str | None, same_author: bool) -> bool:
    """Return whether an agent's change is based on another version than the serving one, so that it must not be taken.

    A change may also be based on the candidate, and the author of the candidate may base a new one on what serves.
    """
    if candidate_id is not None and base_id == candidate_id:
        return False
    if base_id != serving_id:
        return serving_id is not None
    return candidate_id is not None and not same_author
