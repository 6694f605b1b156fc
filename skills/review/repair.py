"""May the agent repair a skill after a failed run? The first stored fact against it is the answer."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Facts:
    """`by_agent`: the agent wrote the version that failed, and it is in no file of a person's. `was_current`: the
    failed run ran on the newest version. `newest_is_repair`: that version was written by a repair task within a day.
    `today` counts the repairs of this skill on this date of the workspace.
    """

    by_agent: bool
    retired: bool
    was_current: bool
    newest_is_repair: bool
    repair_at_work: bool
    today: int
    per_day: int


def why_not(facts: Facts) -> str | None:
    """None when a repair may be asked for."""
    if not facts.by_agent:
        return "the agent did not write it, or it is a person's file: a person corrects it"
    if facts.retired:
        return "it is retired"
    if not facts.was_current:
        return "a newer version is there by now"
    if facts.repair_at_work:
        return "a repair is under way"
    if facts.newest_is_repair:
        return "its newest version was itself a repair within a day: a person looks at it now"
    if facts.today >= facts.per_day:
        return f"it was repaired {facts.today} times today, and {facts.per_day} are allowed"
    return None
