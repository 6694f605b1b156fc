"""What was done to a skill lately, so that a review sees one that goes round in circles."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from core.database import Scope
from skills import versions
from skills.versions import Version

_MOST = 12
_LONGEST_REASON = 300
_FELL = ("quarantined", "refused", "rolled_back")
CIRCLE = 2
"""So many changes of the agent in a row that did not hold are a circle."""


def since(scope: Scope, stem: str, moment: datetime) -> list[dict[str, Any]]:
    """The versions made since then, newest first, as JSON."""
    return [_told(one) for one in versions.listing(scope, stem, _MOST) if one.created_at >= moment]


def go_in_circles(changes: Sequence[dict[str, Any]]) -> bool:
    """Whether the newest changes are the agent's and none of them held."""
    newest = changes[:CIRCLE]
    return len(newest) == CIRCLE and all(one["author"] == "agent" and one["stage"] in _FELL for one in newest)


def _told(version: Version) -> dict[str, Any]:
    return {
        "version": version.number,
        "author": version.author,
        "stage": version.stage,
        "reason": version.reason[:_LONGEST_REASON],
        "at": version.created_at.isoformat(),
    }
