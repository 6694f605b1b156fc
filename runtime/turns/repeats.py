"""Does a turn go round in circles? Pure functions over the calls it has made."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.tools import Effect

MOST = 3
"""In how many steps of one turn the same call may come to the same end."""
_LONGEST_REASON = 300
_FREE = (Effect.READ.value, Effect.WRITE.value)


@dataclass(frozen=True)
class Made:
    """An earlier call: in which step, and what came of it."""

    step: int
    result: Mapping[str, Any] | None


@dataclass(frozen=True)
class Failure:
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


def wish_of(tool: str, arguments: str) -> str:
    """The same for two calls that ask for the same: the order and spacing of their arguments is no difference."""
    try:
        asked = json.dumps(json.loads(arguments or "{}"), sort_keys=True)
    except (ValueError, RecursionError):
        asked = arguments
    return hashlib.sha256(f"{tool} {asked}".encode("utf-8", "replace")).hexdigest()


def made_often(effect: str, same: Sequence[Made]) -> bool:
    """Whether the turn has made a call in `MOST` earlier steps, with one and the same result; `same` are its likes.

    Acts that cost money or destroy are the same by their arguments alone: each answers with an id of its own.
    """
    if effect not in _FREE:
        return _steps([one.step for one in same]) >= MOST
    results: dict[str, list[int]] = {}
    for one in same:
        results.setdefault(json.dumps(one.result, sort_keys=True), []).append(one.step)
    return any(_steps(alike) >= MOST for alike in results.values())


def failing_again(failed: Sequence[Failure]) -> Failure | None:
    """A call that has failed alike in `MOST` steps of the turn, as it did last; None when there is none."""
    steps: dict[str, list[int]] = {}
    for one in failed:
        steps.setdefault(one.wish, []).append(one.step)
    return next((one for one in reversed(failed) if _steps(steps[one.wish]) >= MOST), None)


def _steps(made: Sequence[int]) -> int:
    return len(set(made))
