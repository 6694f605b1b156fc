"""Detection of a turn that goes round in circles: pure functions over the calls it has made."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.tools import Effect

MOST_REPEATS = 3
"""In how many steps of one turn the same call may come to the same end."""
_LONGEST_REASON = 300
_FREE = (Effect.READ.value, Effect.WRITE.value)


@dataclass(frozen=True)
class EarlierCall:
    """An earlier call: in which step, and what came of it."""

    step: int
    result: Mapping[str, Any] | None


@dataclass(frozen=True)
class FailedCall:
    """A call that failed; `wish` is what was asked for, `result` what it was told."""

    step: int
    tool: str
    wish: str
    result: Mapping[str, Any] | None = None

    @property
    def reason(self) -> str:
        """Why, in a line that fits a card; empty where that was not said."""
        said = (self.result or {}).get("message")
        return " ".join(said.split())[:_LONGEST_REASON] if isinstance(said, str) else ""


def digest_wish(tool: str, arguments: str) -> str:
    """The same for two calls that ask for the same: the order and spacing of their arguments is no difference."""
    try:
        asked = json.dumps(json.loads(arguments or "{}"), sort_keys=True)
    except (ValueError, RecursionError):
        asked = arguments
    return hashlib.sha256(f"{tool} {asked}".encode("utf-8", "replace")).hexdigest()


def is_made_often(effect: str, same: Sequence[EarlierCall]) -> bool:
    """Whether the turn has made a call in `MOST` earlier steps, with one and the same result; `same` are its likes.

    Acts that cost money or destroy are the same by their arguments alone: each answers with an id of its own.
    """
    if effect not in _FREE:
        return _count_steps([one.step for one in same]) >= MOST_REPEATS
    results: dict[str, list[int]] = {}
    for one in same:
        results.setdefault(json.dumps(one.result, sort_keys=True), []).append(one.step)
    return any(_count_steps(alike) >= MOST_REPEATS for alike in results.values())


def find_repeated_failure(failed: Sequence[FailedCall]) -> FailedCall | None:
    """A call that has failed alike in `MOST` steps of the turn, as it did last; None when there is none."""
    steps: dict[str, list[int]] = {}
    for one in failed:
        steps.setdefault(one.wish, []).append(one.step)
    return next((one for one in reversed(failed) if _count_steps(steps[one.wish]) >= MOST_REPEATS), None)


def _count_steps(made: Sequence[int]) -> int:
    return len(set(made))
