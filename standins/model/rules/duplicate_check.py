"""Rule for the verdict `duplicate_check`: whether a goal is already being worked on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from standins.model.rules.vocabulary import content_words

SAME = 0.75


def duplicate_check(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return `existing` when the goal shares at least `SAME` of its words with a task's, else `new`.

    A goal of fewer than three words gets `ask` when it shares half of that.
    """
    goal = content_words(str(facts.get("goal") or ""))
    listed = facts.get("candidates")
    rows = [row for row in listed if isinstance(row, Mapping)] if isinstance(listed, list) else []
    ranked = sorted(((_overlap(goal, row), str(row.get("id"))) for row in rows), reverse=True)
    best, task_id = ranked[0] if ranked else (0.0, "")
    if best >= SAME:
        return {"outcome": "existing", "task_id": task_id, "reasons": ["it is the same goal in other words"]}
    if best >= SAME / 2 and len(goal) < 3:
        return {"outcome": "ask", "task_id": None, "reasons": ["the goals look alike"]}
    return {"outcome": "new", "task_id": None, "reasons": ["the goals differ in what they are about"]}


def _overlap(goal: set[str], row: Mapping[str, Any]) -> float:
    """Return the share of common words among the words of both goals."""
    other = content_words(str(row.get("goal") or ""))
    both = goal | other
    return len(goal & other) / len(both) if both else 0.0
